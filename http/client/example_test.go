package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"dialler/http/client"
)

// A CRM adds a contact; a retry after a lost answer does not dial twice.
func ExampleClient_Trigger() {
	c, err := client.New("https://dialler.example", client.WithAPIKey(os.Getenv("DIALLER_API_KEY")))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	got, err := c.Trigger(ctx, client.Trigger{
		CampaignID: "spring", Mobile: "+4915112345678", Metadata: map[string]any{"name": "Ada", "vip": true},
		IdempotencyKey: "order-4711",
	})
	var refused *client.Error
	switch {
	case errors.As(err, &refused) && refused.Code == "outside_window":
		fmt.Println("too late for today")
	case err != nil:
		fmt.Println(err)
	case got.Dialled():
		fmt.Println("ringing as", got.AttemptID)
	default:
		fmt.Println("queued:", got.Reason)
	}
}

// One call outside campaigns.
func ExampleClient_Dialout() {
	c, err := client.New("https://dialler.example", client.WithAPIKey(os.Getenv("DIALLER_API_KEY")))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	placed, err := c.Dialout(ctx, client.Dialout{BotID: "anna", ToNumber: "+4915112345678",
		Variables: map[string]string{"name": "Ada"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	call, err := c.Call(ctx, placed.CallID)
	fmt.Println(call.State, call.Outcome, err)
}

// All contacts with an account are excluded.
func ExampleClient_Exclude() {
	c, err := client.New("https://dialler.example", client.WithAPIKey(os.Getenv("DIALLER_API_KEY")))
	if err != nil {
		fmt.Println(err)
		return
	}
	got, err := c.Exclude(context.Background(), client.Exclude{CampaignID: "spring",
		Match: map[string]string{"account": "A-17"}, Reason: "paid"})
	fmt.Println(got.Matched, got.Excluded, err)
}

// An operator uploads a file, starts the campaign and saves its report.
func ExampleClient_ImportCSV() {
	ctx := context.Background()
	c, err := client.New("https://dialler.example")
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := c.LogIn(ctx, "operator@example.com", os.Getenv("DIALLER_PASSWORD")); err != nil {
		fmt.Println(err)
		return
	}
	file, err := os.Open("contacts.csv")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = file.Close() }()
	done, err := c.ImportCSV(ctx, "spring", "contacts.csv", file)
	if err != nil {
		fmt.Println(err)
		return
	}
	for row, err := range c.RejectedRows(ctx, "spring", done.ImportID) {
		fmt.Println(row.Line, row.Reason, err)
	}
	if _, err := c.Start(ctx, "spring"); err != nil {
		fmt.Println(err)
		return
	}
	report, err := c.AttemptReport(ctx, "spring", client.ReportPart{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = report.Close() }()
	_, err = io.Copy(os.Stdout, report)
	fmt.Println(err)
}

// A server that receives events.
func ExampleVerify() {
	http.HandleFunc("POST /dialler", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
		if err != nil {
			return
		}
		event, err := client.Verify(r.Header, body, os.Getenv("DIALLER_WEBHOOK_SECRET"))
		if err != nil {
			http.Error(w, "not verified", http.StatusUnauthorized)
			return
		}
		fmt.Println(event.ID, event.Type)
		w.WriteHeader(http.StatusNoContent)
	})
}
