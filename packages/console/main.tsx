/** Start of the console in the page. */
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.js';
import { randomUuid } from './base/random-uuid.js';
import { session } from './data/hub.js';
import { startLive } from './data/live-cache.js';
import { continueSignOn } from './session/sign-on.js';

// Browsers have it on pages with TLS and on the own host only; the client names requests by it.
crypto.randomUUID ??= randomUuid;

const place = document.getElementById('console');
if (place === null) throw new Error('the page has no element for the console');
// The error boundary shows what it has caught.
createRoot(place, { onCaughtError: (error) => console.warn(error) }).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
void continueSignOn(session).then((isContinued) => (isContinued ? undefined : session.start()));
startLive();
