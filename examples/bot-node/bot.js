// A voice bot: it greets with a beep, stops when the callee speaks, says goodbye, gives a result and hangs up.
// npm install && PORT=8765 BOT_TOKEN=secret BOT_URL=ws://localhost:8765/calls node bot.js
const { createHmac } = require('node:crypto');
const http = require('node:http');
const { WebSocketServer } = require('ws');
const { PORT = '8765', BOT_TOKEN, BOT_URL } = process.env; // the bot's auth_token, and its endpoint as configured
const signature = BOT_TOKEN && createHmac('sha1', BOT_TOKEN).update(BOT_URL).digest('base64');

// Audio is 8 kHz μ-law, 8 bytes a millisecond. Put your speech synthesis and recognition here.
const beep = (ms) => Buffer.from(Array.from({ length: 8 * ms }, (_, i) => (i & 8 ? 0x1e : 0x9e)));
const loud = (audio) => audio.reduce((sum, b) => sum + (~b & 0x7f), 0) > 50 * audio.length;

const server = http.createServer((req, res) => res.writeHead(req.url === '/health' ? 204 : 404).end());
const bot = new WebSocketServer({ server, path: '/calls',
  verifyClient: ({ req }) => !signature || req.headers['x-twilio-signature'] === signature });
const post = (call, result, again = true) =>
  fetch(call.result_url, { method: 'POST', body: JSON.stringify(result),
    headers: { authorization: `Bearer ${call.result_token}`, 'content-type': 'application/json' },
  }).then(({ ok, status }) => ok || Promise.reject(new Error(`HTTP ${status}`))).catch((why) => {
    console.error('result not stored', why);
    if (again) setTimeout(post, 1000, call, result, false);
  });

bot.on('connection', (socket) => {
  let [call, stream, speaking, heard, interrupted] = [{}, '', false, 0, 0]; // ms of speech; how often
  const send = (event, fields) => socket.send(JSON.stringify({ event, streamSid: stream, ...fields }));
  const say = (ms, name) => {
    speaking = true;
    send('media', { media: { payload: beep(ms).toString('base64') } });
    send('mark', { mark: { name } }); // comes back when this was played, or cleared
  };
  const result = (disposition) => ({ disposition, variables: { heard_ms: heard, interrupted } });
  const on = {
    start({ start }) {
      [call, stream] = [start.customParameters, start.streamSid];
      say(3000, 'greeting');
    },
    media({ media }) {
      const audio = Buffer.from(media.payload, 'base64');
      if (!loud(audio)) return;
      heard += audio.length / 8;
      if (!speaking) return;
      [speaking, interrupted] = [false, interrupted + 1];
      send('clear'); // forget what was not played yet
    },
    mark({ mark }) {
      speaking = false;
      if (mark.name === 'greeting') setTimeout(() => say(500, 'goodbye'), 1000);
      if (mark.name === 'goodbye') send('result', { result: result('greeted') });
    },
    result({ result: answer }) {
      if (answer.status === 'refused') console.error('result refused', answer);
      socket.close(); // it is stored, kept, or of no use: hang up
    },
    stop: () => post(call, result('hung_up')), // the callee hung up, and the socket closes: it goes by HTTP
  };
  socket.on('message', (text) => ((frame) => on[frame.event]?.(frame))(JSON.parse(text)));
});
server.listen(PORT, () => console.log('listening'));
