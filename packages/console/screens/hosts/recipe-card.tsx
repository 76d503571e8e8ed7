import type { api } from '@workbench-hub/client';
import { Link } from 'wouter';
import { useNow } from '../../base/clock.js';
import { usePreferences } from '../../base/preference-store.js';
import { useRole } from '../../data/hub.js';
import { useHubTime } from '../../data/hub-offset.js';
import { Time } from '../../design/time.js';
import { UseBar } from '../../design/use-bar.js';
import { Icon, type IconName } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { durationText, numberText } from '../../words/formats.js';
import { AllocationTable } from './allocation-table.js';
import { isOver, NOT_STARTED } from './allocations.js';
import { Message } from './message.js';
import type { RecipeActions } from './use-recipes.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

interface RecipeCardProps {
  readonly recipe: api.HostRecipe;
  readonly actions: RecipeActions;
}

/** A recipe: how it is, its counts and bounds, and its allocations. */
export function RecipeCard({ recipe, actions }: RecipeCardProps) {
  const words = useWords<typeof en>({ en, de });
  const { name, manager } = recipe;
  return (
    <section className="card recipe" aria-label={name}>
      <header className="recipe-head">
        <Icon name="layers" />
        <h2>{name}</h2>
        <span className="faint">{managerIn(words.managers, manager)}</span>
        <RecipeState state={recipe.state} />
        <RecipeButtons recipe={recipe} actions={actions} />
      </header>
      <RecipeNotices recipe={recipe} />
      <Counts recipe={recipe} />
      <AllocationTable recipe={recipe} />
    </section>
  );
}

/** Words for a kind of workload manager; the kind itself if this page does not know it. */
function managerIn(managers: Readonly<Record<string, string>>, kind: string): string {
  return managers[kind] ?? kind;
}

const LOOKS: Readonly<Record<api.HostRecipe['state'], readonly [icon: IconName, colors: string]>> = {
  READY: ['circle-check', 'of-finished'],
  PAUSED: ['pause', 'of-waiting'],
  FAILING: ['circle-x', 'of-failed'],
  UNREACHABLE: ['unplug', 'of-failed'],
};

function RecipeState({ state }: Pick<api.HostRecipe, 'state'>) {
  const words = useWords<typeof en>({ en, de });
  const [icon, colors] = LOOKS[state];
  return (
    <span className={`status ${colors}`}>
      <Icon name={icon} size={14} />
      {words.states[state]}
    </span>
  );
}

/** The way to its instances, and the buttons of administrators. */
function RecipeButtons({ recipe: { name, state, failedStarts, allocations }, actions }: RecipeCardProps) {
  const words = useWords<typeof en>({ en, de });
  const isAdmin = useRole('ADMIN');
  const button = (icon: IconName, label: string, act: () => void, isOff = false) => (
    <button
      type="button"
      className="button plain"
      aria-label={`${label}: ${name}`}
      disabled={isOff}
      onClick={act}
    >
      <Icon name={icon} />
      {label}
    </button>
  );
  const isPaused = state === 'PAUSED';
  return (
    <span className="recipe-buttons">
      <Link
        href={`/instances?find=${encodeURIComponent(`${name}-`)}`}
        className="button plain"
        aria-label={`${words.instances}: ${name}`}
      >
        <Icon name="server" />
        {words.instances}
      </Link>
      {isAdmin && (
        <>
          {!isPaused && failedStarts > 0 && button('refresh-cw', words.tryNow, () => actions.resume(name))}
          {isPaused
            ? button('circle-play', words.resume, () => actions.resume(name))
            : button('pause', words.pause, () => actions.pause(name))}
          {button('circle-slash', words.drain, () => actions.drain(name), allocations.every(isOver))}
        </>
      )}
    </span>
  );
}

/** Why it brings no hosts at present. */
function RecipeNotices({ recipe }: { readonly recipe: api.HostRecipe }) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const hubTime = useHubTime();
  const { state, pausedBy, failedStarts, message } = recipe;
  const pausedAt = hubTime(recipe.pausedAt);
  const isFailing = failedStarts > 0 && state !== 'UNREACHABLE';
  return (
    <>
      {pausedBy !== undefined && (
        <p className="notice of-waiting">
          <Icon name="pause" />
          <span>
            {words.pausedBy(pausedBy)} {pausedAt !== undefined && <Time at={pausedAt} />}. {words.pausedMore}
          </span>
        </p>
      )}
      {(state === 'UNREACHABLE' || isFailing) && (
        <div className="notice of-failed">
          <Icon name={isFailing ? 'circle-x' : 'unplug'} />
          <div className="recipe-fault">
            <p>
              {isFailing ? words.failed(numberText(failedStarts, language)) : words.away}{' '}
              {isFailing && state !== 'PAUSED' && <NextTry at={recipe.nextTryAt} />}
            </p>
            {message !== undefined && (
              <Message of={recipe.name} isOpenAtFirst>
                {message}
              </Message>
            )}
          </div>
        </div>
      )}
    </>
  );
}

/** When the next allocation may be wanted. */
function NextTry({ at: local }: { readonly at: string | undefined }) {
  const words = useWords<typeof en>({ en, de });
  const nowMs = useNow();
  const at = useHubTime()(local);
  if (at === undefined) return null;
  if (Date.parse(at) <= nowMs) return words.mayTry;
  return (
    <>
      {words.nextTry} <Time at={at} />.
    </>
  );
}

function Counts({ recipe }: { readonly recipe: api.HostRecipe }) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const number = (value: number) => numberText(value, language);
  const open = recipe.allocations.filter((each) => !isOver(each));
  const queued = open.filter(({ state }) => NOT_STARTED.includes(state));
  const { instances, wallTimeS, hostHours, reservedHostHours, maxHostHours } = recipe;
  const reserved = reservedHostHours > 0 ? words.reserved(number(tenths(reservedHostHours))) : undefined;
  const used = hostHours + reservedHostHours;
  return (
    <div className="recipe-counts">
      <dl>
        <Count label={words.counts.open}>
          {words.ofBound(number(open.length), number(recipe.maxAllocations))}
        </Count>
        <Count label={words.counts.queued}>
          {words.ofBound(number(queued.length), number(recipe.maxQueued))}
        </Count>
        <Count label={words.counts.each}>
          {words.brings(number(instances), durationText(wallTimeS * 1000, language))}
        </Count>
        {maxHostHours === undefined && (
          <Count label={words.counts.hours}>{words.hours(number(tenths(hostHours)))}</Count>
        )}
      </dl>
      {maxHostHours !== undefined && (
        <UseBar
          label={words.counts.hours}
          isScarce={used + wallTimeS / 3600 > maxHostHours}
          used={used}
          total={maxHostHours}
          text={words.hoursOf(number(tenths(hostHours)), number(maxHostHours))}
          more={reserved}
        />
      )}
    </div>
  );
}

function tenths(hours: number): number {
  return Math.round(hours * 10) / 10;
}

function Count({ label, children }: { readonly label: string; readonly children: string }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd className="numbers">{children}</dd>
    </div>
  );
}
