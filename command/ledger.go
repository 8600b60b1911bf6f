package command

import (
	"fmt"
	"net"
	"strconv"
)

func splitHostPort(addr string) (host string, port int, err error) {
	host, p, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, err
	}
	if port, err = strconv.Atoi(p); err != nil {
		return "", 0, fmt.Errorf("port of %s: %w", addr, err)
	}
	return host, port, nil
}
