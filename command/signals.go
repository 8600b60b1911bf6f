package command

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// oneSignal is how long further signals count as the first one: a terminal and a supervisor, or two
// of them, may send it at the same time.
const oneSignal = time.Second

// signals returns a context that ends at the first SIGINT or SIGTERM; another one, after oneSignal,
// ends the process at once.
func signals() (context.Context, context.CancelFunc) { return signalsThen(func() {}) }

// signalsThen runs last before the process is ended at once.
func signalsThen(last func()) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	ch := make(chan os.Signal, 2)
	signal.Notify(ch, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-ch
		first := time.Now()
		cancel()
		for range ch {
			if time.Since(first) >= oneSignal {
				last()
				os.Exit(130)
			}
		}
	}()
	return ctx, cancel
}
