// What the bots of e2e tests share: they tell what happens as lines of JSON on
// standard output and end when standard input does.
import { WebSocketServer } from 'ws';

export const say = (event, what = {}) => process.stdout.write(`${JSON.stringify({ event, ...what })}\n`);

export function listen(onConnection) {
  return new Promise((done) => {
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0 }, () =>
      done(`ws://127.0.0.1:${server.address().port}`),
    );
    server.on('connection', onConnection);
  });
}

process.on('unhandledRejection', (e) => say('error', { message: `unhandled: ${e?.stack ?? e}` }));
process.stdin.on('end', () => process.exit(0)).resume();
