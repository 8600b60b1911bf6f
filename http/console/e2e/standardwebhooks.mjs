// Verifies deliveries with the reference library of Standard Webhooks: reads a
// JSON list of {secret, headers, body} from standard input and prints, for each,
// the type of its message or what is wrong with it.
import { Webhook } from 'standardwebhooks';

let input = '';
for await (const part of process.stdin) input += part;
const out = JSON.parse(input).map(({ secret, headers, body }) => {
  try {
    return new Webhook(secret).verify(body, headers).type;
  } catch (e) {
    return `${e.name}: ${e.message}`;
  }
});
process.stdout.write(JSON.stringify(out));
