import type { api } from '@workbench-hub/client';
import { usePreferences } from '../../base/preference-store.js';
import { useHubTime } from '../../data/hub-offset.js';
import { HubWords } from '../../design/hub-words.js';
import { NoData } from '../../design/states.js';
import { Time } from '../../design/time.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { numberText } from '../../words/formats.js';
import { kindText } from '../../words/job-kind.js';
import { useExplanation } from './use-task.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** Why a task waits, and what would help. */
export function WhyItWaits({ id }: { readonly id: string }) {
  const words = useWords<typeof en>({ en, de });
  const query = useExplanation(id, true);
  const { data } = query;
  if (data === undefined) {
    return (
      <section className="card why" aria-labelledby="why-title">
        <h2 id="why-title">{words.why}</h2>
        <NoData query={query} lines={3} />
      </section>
    );
  }
  // It has just begun to run.
  if (data.verdict === undefined) return null;
  return (
    <section className="card why" aria-labelledby="why-title">
      <h2 id="why-title">{words.why}</h2>
      <p className="verdict">
        <Icon name={data.verdict === 'NEVER' ? 'triangle-exclamation-point' : 'clock'} />
        <strong>{words.verdicts[data.verdict]}</strong>
      </p>
      <VerdictFigures explanation={data} />
      <Circumstances exclusions={data.exclusions ?? []} drains={data.drains ?? []} />
      {data.verdict === 'NEVER' && <p>{words.whatHelps}</p>}
    </section>
  );
}

/** Agents that returned the task, and drained ones that it would fit. */
function Circumstances({ exclusions, drains }: Required<Pick<api.TaskExplanation, 'exclusions' | 'drains'>>) {
  const words = useWords<typeof en>({ en, de });
  const hubTime = useHubTime();
  const when = (local: string) => {
    const at = hubTime(local);
    return at === undefined ? null : <Time at={at} />;
  };
  if (exclusions.length + drains.length === 0) return null;
  return (
    <ul className="why-figures quiet">
      {exclusions.map(({ agentId, reason, at }) => (
        <li key={`${agentId} ${at}`}>
          {words.returnedBy(agentId)} {when(at)}: <HubWords>{reason}</HubWords>
        </li>
      ))}
      {drains.map(({ agentId, by, since }) => (
        <li key={agentId}>
          {words.drainedAgent(agentId, by)} {when(since)}
        </li>
      ))}
    </ul>
  );
}

interface FiguresProps {
  readonly explanation: Pick<
    Partial<api.DryRunExplanation>,
    'instances' | 'tasksAhead' | 'unsatisfied' | 'kinds' | 'hosts' | 'estimatedStart'
  >;
}

/** Number and state of fitting instances, remedies, and the probable start of a task. */
export function VerdictFigures({ explanation }: FiguresProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const { instances, tasksAhead, unsatisfied = [], kinds = [] } = explanation;
  // Explanations are in the local time of the hub.
  const expected = useHubTime()(explanation.estimatedStart?.expected);
  const number = (value: number) => numberText(value, language);
  const states = instances
    ? (['idle', 'busy', 'kept', 'ending', 'down', 'unreachable', 'drained'] as const).filter(
        (state) => (instances[state] ?? 0) > 0,
      )
    : [];
  return (
    <ul className="why-figures">
      {instances && (
        <li>
          {words.fitting(number(instances.satisfyingAll), number(instances.known))}
          {states.length > 0 && (
            <span className="quiet">
              {' '}
              · {states.map((state) => words[state](number(instances[state] ?? 0))).join(' · ')}
            </span>
          )}
        </li>
      )}
      {kinds.length > 0 && (
        <li>
          {words.kinds}
          <ul>
            {kinds.map(({ runs, instances: count }) => (
              <li key={JSON.stringify(runs)}>
                {number(count)} × {kindText(runs, language)}
              </li>
            ))}
          </ul>
        </li>
      )}
      {tasksAhead !== undefined && tasksAhead > 0 && <li>{words.ahead(number(tasksAhead))}</li>}
      {unsatisfied.map(({ type, value }) => (
        <li key={`${type} ${value}`}>
          {words.unsatisfied(words.criteria[type])} <span className="tag">{value}</span>
        </li>
      ))}
      {instances?.satisfyingAll === 0 &&
        instances.satisfyingAllButOne.map(({ missing, instances: count }) => (
          <li key={missing.value}>{words.butFor(number(count), criterionText(missing, words))}</li>
        ))}
      <ComingHosts hosts={explanation.hosts ?? []} />
      {expected !== undefined && (
        <li>
          {words.expected} <Time at={expected} />
        </li>
      )}
    </ul>
  );
}

/** Recipes that bring hosts for the task, or why they bring none. */
function ComingHosts({ hosts }: { readonly hosts: NonNullable<FiguresProps['explanation']['hosts']> }) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const hubTime = useHubTime();
  return hosts.map(({ recipe, coming, expected, obstacle, nextTry }) => {
    const expectedAt = hubTime(expected);
    const nextTryAt = hubTime(nextTry);
    return (
      <li key={recipe}>
        {words.hostsOf(recipe)}
        {coming > 0 && ` · ${words.coming(numberText(coming, language))}`}
        {expectedAt !== undefined && (
          <>
            , {words.expectedHost} <Time at={expectedAt} />
          </>
        )}
        {obstacle !== undefined && <span className="quiet"> · {words.obstacles[obstacle]}</span>}
        {nextTryAt !== undefined && (
          <span className="quiet">
            , {words.nextTry} <Time at={nextTryAt} />
          </span>
        )}
      </li>
    );
  });
}

function criterionText({ type, value }: api.Criterion, { criteria }: Pick<typeof en, 'criteria'>): string {
  return `${criteria[type]} ${value}`;
}
