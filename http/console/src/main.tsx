import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import './fonts.css';
import './theme.css';

import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';

import { App } from './app';
import { comes } from './routes';

// A page whose code is gone: the dialler was updated while this tab was open. The new index.html names the new files.
globalThis.addEventListener('vite:preloadError', (e) => {
  const key = 'dialler-reloaded-at';
  const last = Number(sessionStorage.getItem(key) ?? 0);
  if (Date.now() - last < 60_000) return; // loading again did not help: the error boundary has its say
  e.preventDefault();
  sessionStorage.setItem(key, String(Date.now()));
  globalThis.location.reload();
});

comes(location.pathname);

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no #root');
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
