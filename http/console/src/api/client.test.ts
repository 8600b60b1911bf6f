import { afterEach, expect, test, vi } from 'vitest';

import { noteRefusal, onLoggedOut, setToken } from './client';
import { Problem } from './problem';

const refused = () => new Problem(401, 'unauthorized', 'log in');

/** seen counts how often the session is said to be over. */
function seen() {
  const f = vi.fn<() => void>();
  end = onLoggedOut(f);
  return f;
}
let end = () => {};

afterEach(() => {
  end();
  setToken('');
  vi.unstubAllGlobals();
});

test('a session is over when the dialler says so', async () => {
  const over = seen();
  setToken('one');
  vi.stubGlobal('fetch', () => Promise.resolve(new Response('', { status: 401 })));
  await noteRefusal(refused());
  expect(over).toHaveBeenCalledTimes(1);
});

test('a request of the session before, refused late, does not end the one that there is', async () => {
  const over = seen();
  setToken('two');
  vi.stubGlobal('fetch', () => Promise.resolve(new Response('{}', { status: 200 })));
  await noteRefusal(refused());
  expect(over).not.toHaveBeenCalled();
});

test('a log-in while the dialler is asked counts', async () => {
  const over = seen();
  setToken('one');
  vi.stubGlobal('fetch', () => {
    setToken('two');
    return Promise.resolve(new Response('', { status: 401 }));
  });
  await noteRefusal(refused());
  expect(over).not.toHaveBeenCalled();
});

test('requests that are refused together ask once, and without a session nobody is asked', async () => {
  const over = seen();
  const asked = vi.fn(() => Promise.resolve(new Response('', { status: 401 })));
  vi.stubGlobal('fetch', asked);
  await noteRefusal(refused());
  expect(asked).not.toHaveBeenCalled();
  setToken('one');
  await Promise.all([noteRefusal(refused()), noteRefusal(refused())]);
  expect(asked).toHaveBeenCalledTimes(1);
  expect(over).toHaveBeenCalledTimes(1);
});

test('what is refused for another reason says nothing of the session', async () => {
  const over = seen();
  setToken('one');
  const asked = vi.fn();
  vi.stubGlobal('fetch', asked);
  await noteRefusal(new Problem(403, 'forbidden', 'not for you'));
  expect(asked).not.toHaveBeenCalled();
  expect(over).not.toHaveBeenCalled();
});
