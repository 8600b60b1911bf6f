// A voice bot with Twilio's own library: it believes an upgrade only when the
// library's validator does, and ends the call by the library's REST client.
// Arguments: the dialler's address, the bot's account and token.
import twilio from 'twilio';
import { listen, say } from './peer.mjs';

const [base, account, token] = process.argv.slice(2);

// The library composes its own host name; the rest of the address stays.
class Here extends twilio.RequestClient {
  request(options) {
    const u = new URL(options.uri);
    return super.request({ ...options, uri: base + u.pathname + u.search });
  }
}

const as = (name, secret) => twilio(name, secret, { httpClient: new Here() });

// What the library makes of a refusal.
const refused = async (what, ask) => {
  try {
    await ask();
    say('refusal', { what, accepted: true });
  } catch (e) {
    say('refusal', {
      what,
      name: e.constructor.name,
      status: e.status,
      code: e.code,
      message: e.message,
      more: e.moreInfo,
    });
  }
};

async function conversation(call) {
  const own = as(account, token).calls(call);
  await refused('token', () =>
    as(account, '0123456789abcdef0123456789abcdef').calls(call).update({ status: 'completed' }),
  );
  await refused('account', () =>
    as(`AC${'12'.repeat(16)}`, token)
      .calls(call)
      .update({ status: 'completed' }),
  );
  await refused('redirect', () => own.update({ twiml: '<Response/>' }));
  await refused('fetch', () => own.fetch());
  const ended = await own.update({ status: 'completed' });
  say('ended', { sid: ended.sid, account: ended.accountSid, status: ended.status });
}

const url = await listen((socket, request) => {
  const signature = request.headers['x-twilio-signature'] ?? '';
  const address = `ws://${request.headers.host}${request.url}`;
  say('upgrade', {
    valid: twilio.validateRequest(token, signature, address, {}),
    otherToken: twilio.validateRequest(`${token}0`, signature, address, {}),
    otherAddress: twilio.validateRequest(token, signature, `${address}0`, {}),
  });
  let call = '';
  socket.on('message', (text) => {
    const frame = JSON.parse(text);
    if (frame.event === 'start') {
      call = frame.start.callSid;
      conversation(call).catch((e) => say('error', { message: String(e.stack) }));
    }
    if (frame.event === 'stop') say('stop', { call: frame.stop.callSid });
  });
  socket.on('close', async () => {
    if (call === '') return; // only asked whether it is there
    await refused('again', () => as(account, token).calls(call).update({ status: 'completed' }));
    say('closed');
  });
});
say('listening', { url });
