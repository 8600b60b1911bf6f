// A voice bot made with the OpenAI Agents SDK and its transport for media
// streams, as its documentation has it; the model is a stand-in on this machine
// that answers what it hears with the same, at first far too much of it.
import { TwilioRealtimeTransportLayer } from '@openai/agents-extensions';
import { RealtimeAgent, RealtimeSession } from '@openai/agents/realtime';
import { listen, say } from './peer.mjs';

const LONG_MS = 10_000;
const SHORT_MS = 400;
const BYTES_OF_MS = 8; // μ-law at 8 kHz
const ENOUGH = 500 * BYTES_OF_MS;
const LOUD = 100; // bytes

// The stand-in: the events of the Realtime API that the library needs.
let model = null;

const modelURL = await listen((socket, request) => {
  if (request.headers.authorization !== 'Bearer a key of the test')
    say('error', { message: 'the model was sent another key' });
  const heard = [];
  let bytes = 0;
  let loud = 0;
  let answered = false;
  let events = 0;
  let answers = 0;
  const send = (type, fields) => socket.send(JSON.stringify({ type, event_id: `event_${++events}`, ...fields }));
  const speak = (ms) => {
    const n = ++answers;
    const place = { response_id: `resp_${n}`, item_id: `item_${n}`, output_index: 0, content_index: 0 };
    const all = Buffer.concat(heard);
    send('response.created', {
      response: { id: place.response_id, object: 'realtime.response', status: 'in_progress', output: [] },
    });
    for (let left = ms; left > 0; left -= 500) {
      const part = Buffer.alloc(Math.min(left, 500) * BYTES_OF_MS);
      for (let at = 0; at < part.length; at += all.length) all.copy(part, at);
      send('response.output_audio.delta', { ...place, delta: part.toString('base64') });
    }
    send('response.output_audio.done', place);
    send('response.done', {
      response: { id: place.response_id, object: 'realtime.response', status: 'completed', output: [] },
    });
  };
  model = {
    speak,
    interrupt: () => send('input_audio_buffer.speech_started', { audio_start_ms: 0, item_id: 'item_heard' }),
  };
  send('session.created', {
    session: { type: 'realtime', object: 'realtime.session', id: 'sess_1', model: 'stand-in' },
  });
  socket.on('message', (text) => {
    const event = JSON.parse(text);
    switch (event.type) {
      case 'session.update': {
        const { input, output } = event.session.audio ?? {};
        if (input) say('configured', { input: input.format.type, output: output.format.type });
        send('session.updated', { session: event.session });
        break;
      }
      case 'input_audio_buffer.append': {
        const audio = Buffer.from(event.audio, 'base64');
        bytes += audio.length;
        // Both zeros of μ-law and what is next to them are silence: what comes until the callee is heard.
        loud += audio.filter((b) => (b & 0x7f) < 0x78).length;
        heard.push(audio);
        while (heard.length * audio.length > 2 * ENOUGH) heard.shift();
        if (!answered && bytes >= ENOUGH && loud >= LOUD) {
          answered = true;
          say('heard', { ms: bytes / BYTES_OF_MS, loud });
          speak(LONG_MS);
        }
        break;
      }
      case 'conversation.item.truncate':
        say('truncated', { item: event.item_id, audioEndMs: event.audio_end_ms });
        break;
    }
  });
  socket.on('close', () => say('model_closed'));
});

const botURL = await listen((socket) => {
  const marks = { sent: [], back: [] };
  let cleared = 0;
  let started = null;
  let stopped = false;
  const send = socket.send.bind(socket);
  socket.send = (text) => {
    const frame = JSON.parse(text);
    if (frame.event === 'mark') marks.sent.push(frame.mark.name);
    if (frame.event === 'clear') cleared++;
    send(text);
  };
  const transport = new TwilioRealtimeTransportLayer({ twilioWebSocket: socket });
  // Without a voice this version asks its model for 24 kHz PCM.
  const session = new RealtimeSession(new RealtimeAgent({ name: 'Anna', instructions: 'Repeat what you hear.' }), {
    transport,
    config: { audio: { output: { voice: 'verse' } } },
  });
  session.on('error', (e) => say('error', { message: String(e.error?.stack ?? JSON.stringify(e)) }));

  const result = async (disposition) => {
    const { result_url, result_token } = started.customParameters;
    const answer = await fetch(result_url, {
      method: 'POST',
      headers: { authorization: `Bearer ${result_token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ disposition }),
    });
    say('result', { status: answer.status });
  };

  const settled = () => marks.sent.length === marks.back.length;
  const marked = async () => {
    if (marks.back.length === 1) model.interrupt(); // in the middle of the long answer
    if (!settled()) return;
    if (cleared === 1 && marks.sent.length > 0 && !marked.again) {
      marked.again = true;
      say('cleared', { marks: marks.sent.length, inOrder: marks.sent.join() === marks.back.join() });
      model.speak(SHORT_MS);
      return;
    }
    say('played', { marks: marks.sent.length, inOrder: marks.sent.join() === marks.back.join() });
    await result('interested');
    if (started.customParameters.ends === 'callee') return; // who hangs up
    session.close();
    socket.close();
  };

  // Every message, as the library tells of it.
  transport.on('*', (event) => {
    if (event.type !== 'twilio_message') return;
    const frame = event.message;
    switch (frame.event) {
      case 'start':
        started = frame.start;
        say('started', { call: started.callSid, parameters: Object.keys(started.customParameters).sort() });
        session
          .connect({ apiKey: 'a key of the test', url: modelURL })
          .catch((e) => say('error', { message: String(e.stack) }));
        break;
      case 'mark':
        marks.back.push(frame.mark.name);
        marked().catch((e) => say('error', { message: String(e.stack) }));
        break;
      case 'stop':
        stopped = true;
        break;
    }
  });
  socket.on('close', () => started && say('closed', { stopped, clear: cleared, library: transport.status }));
});
say('listening', { url: botURL });
