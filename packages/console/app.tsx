import { CSPProvider } from '@base-ui/react/csp-provider';
import { QueryClientProvider } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { Link, Route, Switch, useLocation } from 'wouter';
import { Store, useStore } from './base/store.js';
import { useTitle } from './base/use-title.js';
import { session } from './data/hub.js';
import { queryClient } from './data/query-client.js';
import { ErrorBoundary } from './design/error-boundary.js';
import { Empty, Loading } from './design/states.js';
import { prefetchData, preloadScreen, ROUTES } from './routes.js';
import { LogInPage } from './screens/log-in/log-in-page.js';
import { AwayNotice, Shell } from './shell/shell.js';
import { de } from './shell/words-de.js';
import { en } from './shell/words-en.js';
import { useWords } from './words/dictionary.js';

/** Loaded when it is needed, as all parts of the console that few visits need. */
const LogInDialog = lazy(async () => ({
  default: (await import('./screens/log-in/log-in-dialog.js')).LogInDialog,
}));

/** Whether the screen of the first address can be drawn; only then is anything, so that nothing is drawn twice. */
const isLoaded = new Store(false);
void preloadScreen(location.pathname).then(() => isLoaded.set(true));
const stop = session.state.subscribe(() => {
  if (session.state.get().status !== 'open') return;
  stop();
  prefetchData(location.pathname);
});

/** The console: the login for a stranger, the screens for a user. */
export function App() {
  const state = useStore(session.state);
  const isDrawable = useStore(isLoaded);
  const isStranger = state.status === 'ended' && state.person === undefined;
  return (
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queryClient}>
        {isStranger ? (
          <LogInPage />
        ) : state.status === 'starting' || !isDrawable ? (
          <Starting />
        ) : (
          <Shell>
            <Screens />
          </Shell>
        )}
        {state.status === 'ended' && state.person !== undefined && (
          <Suspense>
            <LogInDialog username={state.person.username} />
          </Suspense>
        )}
      </QueryClientProvider>
    </CSPProvider>
  );
}

function Screens() {
  const [place] = useLocation();
  return (
    <ErrorBoundary place={place}>
      <Suspense fallback={<Loading />}>
        <Switch>
          {ROUTES.map(({ path, screen: Screen }) => (
            <Route key={path} path={path}>
              {(params) => <Screen params={params as Record<string, string | undefined>} />}
            </Route>
          ))}
          <Route>
            <NotFound />
          </Route>
        </Switch>
      </Suspense>
    </ErrorBoundary>
  );
}

function NotFound() {
  const words = useWords<typeof en>({ en, de });
  useTitle(words.notFound);
  return (
    <Empty icon="search" title={words.notFound} isScreen>
      <p>{words.notFoundMore}</p>
      <Link href="/tasks" className="button">
        {words.toTasks}
      </Link>
    </Empty>
  );
}

function Starting() {
  return (
    <main>
      <AwayNotice />
      <Loading lines={3} />
    </main>
  );
}
