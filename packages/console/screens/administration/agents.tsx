import { useMutation } from '@tanstack/react-query';
import { type AgentState, api } from '@workbench-hub/client';
import { useState } from 'react';
import { Link } from 'wouter';
import { usePreferences } from '../../base/preference-store.js';
import { hub } from '../../data/hub.js';
import { ChoiceField } from '../../design/choice.js';
import { ConfirmDialog } from '../../design/confirm-dialog.js';
import { DataTable } from '../../design/data-table.js';
import { LineForm } from '../../design/line-form.js';
import { SecretOnce } from '../../design/secret-once.js';
import { Empty, NoData } from '../../design/states.js';
import { TextField } from '../../design/text-field.js';
import { Time } from '../../design/time.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { numberText } from '../../words/formats.js';
import { installationText, systemText } from '../../words/installation.js';
import { useHosts } from '../instances/use-instances.js';
import { ProgressBadge } from './progress-badge.js';
import { Rollout } from './rollout.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const HOUR_S = 3600;
const VALID_HOURS = [1, 24, 168] as const;
const COMMAND = 'workbench-agent enroll --config agent.yaml';

/** Enrollment of agents, and the end of their credentials. */
export function Agents() {
  const words = useWords<typeof en>({ en, de });
  const [code, setCode] = useState<api.EnrollmentCode>();
  return (
    <>
      {code ? (
        <SecretOnce title={words.codeFor(code.id)} secret={code.code} onClose={() => setCode(undefined)}>
          <p className="quiet">
            {words.codeUse} <code>{COMMAND}</code>
            <br />
            {words.codeUntil} <Time at={code.expiresAt} />
          </p>
        </SecretOnce>
      ) : (
        <Enrollment onCode={setCode} />
      )}
      <Rollout />
      <AgentList />
    </>
  );
}

function Enrollment({ onCode }: { readonly onCode: (code: api.EnrollmentCode) => void }) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const [id, setId] = useState('');
  const [hours, setHours] = useState<number>(VALID_HOURS[0]);
  const enrollment = useMutation({
    mutationFn: async () => {
      const body = { id: id.trim(), validFor: hours * HOUR_S };
      return (await api.enrollAgent({ client: hub.client, body, throwOnError: true })).data;
    },
    onSuccess: onCode,
  });
  return (
    <LineForm
      label={words.enroll}
      action={words.makeCode}
      refused={words.refused}
      isComplete={id.trim() !== ''}
      mutation={enrollment}
    >
      <TextField id="agent-id" label={words.agentId} placeholder="sim-host-1" value={id} onChange={setId} />
      <ChoiceField
        id="code-hours"
        label={words.validFor}
        value={hours}
        options={VALID_HOURS.map((each) => [each, words.hours(numberText(each, language))])}
        onChange={setHours}
      />
    </LineForm>
  );
}

function AgentList() {
  const words = useWords<typeof en>({ en, de });
  const query = useHosts();
  const { data, refetch } = query;
  const [revoked, setRevoked] = useState<string>();
  const hasUpdates = data?.agents.some(({ update }) => update !== undefined) ?? false;
  return (
    <section className="card table-card" aria-label={words.agents}>
      <NoData query={query} lines={4} />
      {data?.agents.length === 0 && (
        <Empty icon="server" title={words.noAgents}>
          <p>{words.noAgentsMore}</p>
        </Empty>
      )}
      {data && data.agents.length > 0 && (
        <DataTable
          className="agent-table"
          columns={[
            words.columns.agent,
            words.columns.state,
            [words.columns.version, 'detail'],
            [words.columns.system, 'detail'],
            [words.columns.installation, 'detail'],
            ...(hasUpdates ? [[words.columns.update, 'detail'] as const] : []),
            [words.columns.actions, 'actions'],
          ]}
        >
          {data.agents.map((agent) => (
            <AgentRow
              key={agent.id}
              agent={agent}
              hasUpdates={hasUpdates}
              onRevoke={() => setRevoked(agent.id)}
            />
          ))}
        </DataTable>
      )}
      <ConfirmDialog
        question={
          revoked === undefined
            ? undefined
            : {
                icon: 'shield',
                label: words.revoke,
                title: words.revokeTitle(revoked),
                more: words.revokeMore,
                act: async () => {
                  await api.revokeAgent({ client: hub.client, path: { id: revoked }, throwOnError: true });
                  await refetch();
                },
              }
        }
        onClose={() => setRevoked(undefined)}
      />
    </section>
  );
}

interface AgentRowProps {
  readonly agent: AgentState;
  /** Whether the table has the column of updates. */
  readonly hasUpdates: boolean;
  readonly onRevoke: () => void;
}

function AgentRow({ agent, hasUpdates, onRevoke }: AgentRowProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const { id, status, version, drained, update } = agent;
  const isAgent = version !== undefined && agent.hub === undefined;
  const isUp = status === 'UP';
  return (
    <tr>
      <th scope="row">
        <Link href={`/instances?find=${encodeURIComponent(id)}`} className="item-name">
          {id}
        </Link>
      </th>
      <td>
        <span className={`status plain ${isUp ? 'of-finished' : 'of-failed'}`}>
          <Icon name={isUp ? 'zap' : 'unplug'} size={14} />
          {isUp ? words.up : version === undefined ? words.neverJoined : words.down}
        </span>{' '}
        {drained && (
          <span className="status of-waiting">
            <Icon name="circle-slash" size={14} />
            {words.drained}
          </span>
        )}
      </td>
      <td className="detail faint">{version}</td>
      <td className="detail faint">{isAgent && systemText(agent, language)}</td>
      <td className="detail faint">{isAgent && installationText(agent, language)}</td>
      {hasUpdates && <td className="detail">{update && <ProgressBadge progress={update.progress} />}</td>}
      <td className="actions">
        <button
          type="button"
          className="button plain"
          aria-label={`${words.revoke}: ${id}`}
          onClick={onRevoke}
        >
          {words.revoke}
        </button>
      </td>
    </tr>
  );
}
