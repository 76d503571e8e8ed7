import { type ReactNode, useEffect, useRef } from 'react';
import { Link, useLocation } from 'wouter';
import { usePreferences } from '../base/preference-store.js';
import { useStore } from '../base/store.js';
import { session } from '../data/hub.js';
import { liveEvents } from '../data/live-cache.js';
import { Icon } from '../icons/icon.js';
import { reachability } from '../session/reachability.js';
import { useWords } from '../words/dictionary.js';
import { PaletteTrigger } from './palette-trigger.js';
import { SettingsTrigger } from './settings-trigger.js';
import { useEntries } from './use-entries.js';
import { useNoNavigationByDrop } from './use-no-navigation-by-drop.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** The frame around all screens: navigation, palette, settings, and word of a hub that is away. */
export function Shell({ children }: { readonly children: ReactNode }) {
  const words = useWords<typeof en>({ en, de });
  const main = useFocusAfterNavigation();
  useNoNavigationByDrop();
  return (
    <div className="shell">
      <a className="skip" href="#content">
        {words.skip}
      </a>
      <header className="bar">
        <Link href="/" className="brand" aria-label="Workbench Hub">
          <Mark />
          <span>Workbench Hub</span>
        </Link>
        <PaletteTrigger />
        <LiveMark />
        <SettingsTrigger onLogOut={() => session.logOut()} />
      </header>
      <Navigation />
      <main id="content" className="screen-area" tabIndex={-1} ref={main}>
        <AwayNotice />
        {children}
      </main>
    </div>
  );
}

/** Gives the focus to the content when another screen is opened, so that Tab and screen readers go on there. */
function useFocusAfterNavigation() {
  const main = useRef<HTMLElement>(null);
  const [location] = useLocation();
  const before = useRef(location);
  useEffect(() => {
    if (before.current === location) return;
    before.current = location;
    main.current?.focus({ preventScroll: true });
    main.current?.scrollTo(0, 0);
  }, [location]);
  return main;
}

function Mark() {
  return (
    <svg width="24" height="24" viewBox="0 0 32 32" aria-hidden="true" className="mark">
      <rect width="32" height="32" rx="8" />
      <circle cx="16" cy="16" r="4" />
      <path d="M16 12V6M16 26v-6M20 16h6M6 16h6" />
    </svg>
  );
}

function Navigation() {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const [location] = useLocation();
  const entries = useEntries();
  return (
    <nav className="navigation" aria-label={words.navigation}>
      <ul>
        {entries.map(({ path, entry }) => {
          const isHere = path === '/' ? location === '/' : location.startsWith(path);
          return (
            <li key={path}>
              <Link href={path} aria-current={isHere ? 'page' : undefined}>
                <Icon name={entry.icon} size={18} />
                <span>{entry.label[language]}</span>
              </Link>
            </li>
          );
        })}
      </ul>
      <a href="/docs">
        <Icon name="file-code" size={18} />
        <span>{words.interface}</span>
      </a>
    </nav>
  );
}

function LiveMark() {
  const words = useWords<typeof en>({ en, de });
  const { isAway } = useStore(reachability);
  const isLive = useStore(liveEvents.isLive) && !isAway;
  return (
    <span className={`live ${isLive ? 'on' : ''}`} title={isLive ? words.live : words.connecting}>
      <Icon name={isLive ? 'zap' : 'unplug'} size={14} />
      <span>{isLive ? words.live : words.connecting}</span>
    </span>
  );
}

/** Word of a hub that is away; nothing while it is here. */
export function AwayNotice() {
  const words = useWords<typeof en>({ en, de });
  const { isAway } = useStore(reachability);
  return (
    <div role="status">
      {isAway && (
        <div className="notice of-failed away">
          <Icon name="plug-zap" />
          <div>
            <strong>{words.away}</strong> {words.awayMore}
          </div>
        </div>
      )}
    </div>
  );
}
