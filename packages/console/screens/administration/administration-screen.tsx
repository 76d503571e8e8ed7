import { type ComponentType, lazy, Suspense } from 'react';
import { Link } from 'wouter';
import { useTitle } from '../../base/use-title.js';
import { useRole } from '../../data/hub.js';
import { Empty, Loading } from '../../design/states.js';
import { useCommonWords } from '../../words/common.js';
import { useWords } from '../../words/dictionary.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

type Part = keyof typeof en.parts;

const PARTS: Readonly<Record<Part, ComponentType>> = {
  agents: lazy(async () => ({ default: (await import('./agents.js')).Agents })),
  users: lazy(async () => ({ default: (await import('./users/users.js')).Users })),
  audit: lazy(async () => ({ default: (await import('./audit.js')).Audit })),
  hubs: lazy(async () => ({ default: (await import('./hubs.js')).Hubs })),
  server: lazy(async () => ({ default: (await import('./server.js')).Server })),
  log: lazy(async () => ({ default: (await import('./hub-log.js')).HubLog })),
  shutdown: lazy(async () => ({ default: (await import('./shutdown.js')).Shutdown })),
};
const NAMES = Object.keys(PARTS) as Part[];

/** Screen of administrators, by parts. */
export function AdministrationScreen({
  params,
}: {
  readonly params: Readonly<Record<string, string | undefined>>;
}) {
  const words = useWords<typeof en>({ en, de });
  const common = useCommonWords();
  const isAdmin = useRole('ADMIN');
  const part = NAMES.find((each) => each === params['part']) ?? 'agents';
  const View = PARTS[part];
  useTitle(isAdmin ? `${words.parts[part]} · ${words.title}` : common.refused);
  if (!isAdmin) {
    return (
      <Empty icon="shield" title={common.refused} isScreen>
        <p>{common.refusedWhy('ADMIN')}</p>
      </Empty>
    );
  }
  return (
    <section className={`screen administration-${part}`} aria-labelledby="administration-title">
      <h1 id="administration-title">{words.title}</h1>
      <nav className="tab-list part-links" aria-label={words.title}>
        {NAMES.map((each) => (
          <Link
            key={each}
            href={`/administration/${each}`}
            className="tab"
            aria-current={each === part ? 'page' : undefined}
          >
            {words.parts[each]}
          </Link>
        ))}
      </nav>
      <Suspense fallback={<Loading lines={8} />}>
        <View />
      </Suspense>
    </section>
  );
}
