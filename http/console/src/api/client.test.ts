import { afterEach, beforeEach, expect, test, vi } from 'vitest';

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

/** noted notes a refusal, and lets the time pass that it takes. */
async function noted(p: Problem, times = 1) {
  const all = Promise.all(Array.from({ length: times }, () => noteRefusal(p)));
  await vi.runAllTimersAsync();
  await all;
}

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  end();
  vi.useRealTimers();
  setToken('');
  vi.unstubAllGlobals();
});

test('a session is over when the dialler says so', async () => {
  const over = seen();
  setToken('one');
  vi.stubGlobal('fetch', () => Promise.resolve(new Response('', { status: 401 })));
  await noted(refused());
  expect(over).toHaveBeenCalledTimes(1);
});

test('a request of the session before, refused late, does not end the one that there is', async () => {
  const over = seen();
  setToken('two');
  vi.stubGlobal('fetch', () => Promise.resolve(new Response('{}', { status: 200 })));
  await noted(refused());
  expect(over).not.toHaveBeenCalled();
});

test('a log-in while the dialler is asked counts', async () => {
  const over = seen();
  setToken('one');
  vi.stubGlobal('fetch', () => {
    setToken('two');
    return Promise.resolve(new Response('', { status: 401 }));
  });
  await noted(refused());
  expect(over).not.toHaveBeenCalled();
});

test('a log-in in another tab whose cookie is still under way counts', async () => {
  const over = seen();
  setToken('one');
  let asked = 0;
  vi.stubGlobal('fetch', () =>
    Promise.resolve(++asked === 1 ? new Response('', { status: 401 }) : new Response('{}', { status: 200 })),
  );
  await noted(refused());
  expect(asked).toBe(2);
  expect(over).not.toHaveBeenCalled();
});

test('requests that are refused together ask together, and without a session nobody is asked', async () => {
  const over = seen();
  const asked = vi.fn(() => Promise.resolve(new Response('', { status: 401 })));
  vi.stubGlobal('fetch', asked);
  await noted(refused());
  expect(asked).not.toHaveBeenCalled();
  setToken('one');
  await noted(refused(), 2);
  expect(asked).toHaveBeenCalledTimes(2);
  expect(over).toHaveBeenCalledTimes(1);
});

test('what is refused for another reason says nothing of the session', async () => {
  const over = seen();
  setToken('one');
  const asked = vi.fn();
  vi.stubGlobal('fetch', asked);
  await noted(new Problem(403, 'forbidden', 'not for you'));
  expect(asked).not.toHaveBeenCalled();
  expect(over).not.toHaveBeenCalled();
});
