import { useMutation, useQuery } from '@tanstack/react-query';
import { api } from '@workbench-hub/client';
import { useState } from 'react';
import { usePreferences } from '../../base/preference-store.js';
import { useTitle } from '../../base/use-title.js';
import { allPages } from '../../data/all-pages.js';
import { hub, usePerson } from '../../data/hub.js';
import { useHubTime } from '../../data/hub-offset.js';
import { askAgain } from '../../data/query-client.js';
import { ChoiceField } from '../../design/choice.js';
import { ConfirmDialog } from '../../design/confirm-dialog.js';
import { DataTable } from '../../design/data-table.js';
import { LineForm } from '../../design/line-form.js';
import { SecretOnce } from '../../design/secret-once.js';
import { Empty, NoData } from '../../design/states.js';
import { TextField } from '../../design/text-field.js';
import { Time } from '../../design/time.js';
import { Icon } from '../../icons/icon.js';
import { holdsRole, type Person } from '../../session/session.js';
import { useWords } from '../../words/dictionary.js';
import { numberText } from '../../words/formats.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const KEY = ['tokens'];
const DAYS = [7, 30, 90, 366] as const;
const USUAL_DAYS = 90;
const ROLES = ['VIEWER', 'USER', 'ADMIN'] as const;

/** Personal access tokens of the user. The hub gives them only to users of its own. */
export function TokensScreen() {
  const words = useWords<typeof en>({ en, de });
  const by = usePerson()?.by;
  useTitle(words.title);
  if (by !== 'SIGN_ON' && by !== 'OPEN_HUB') return <OwnTokens />;
  return (
    <section className="screen" aria-labelledby="tokens-title">
      <header className="screen-head">
        <h1 id="tokens-title">{words.title}</h1>
      </header>
      <div className="card table-card">
        <Empty icon="shield" title={words.none}>
          <p>{by === 'SIGN_ON' ? words.notBySignOn : words.notOnOpenHub}</p>
        </Empty>
      </div>
    </section>
  );
}

function OwnTokens() {
  const words = useWords<typeof en>({ en, de });
  const [created, setCreated] = useState<api.CreatedPersonalToken>();
  return (
    <section className="screen" aria-labelledby="tokens-title">
      <header className="screen-head">
        <h1 id="tokens-title">{words.title}</h1>
        <span className="faint">{words.more}</span>
      </header>
      {created ? (
        <SecretOnce
          title={words.created(created.name)}
          secret={created.token}
          onClose={() => setCreated(undefined)}
        >
          <p className="quiet">{words.use}</p>
        </SecretOnce>
      ) : (
        <NewToken onCreated={setCreated} />
      )}
      <Tokens />
    </section>
  );
}

function NewToken({ onCreated }: { readonly onCreated: (token: api.CreatedPersonalToken) => void }) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const person = usePerson();
  const roles = rolesFor(person);
  const [name, setName] = useState('');
  const [days, setDays] = useState<number>(USUAL_DAYS);
  const [role, setRole] = useState<api.CreatedPersonalToken['role']>(
    holdsRole(person, 'USER') ? 'USER' : 'VIEWER',
  );
  const creation = useMutation({
    mutationFn: async () => {
      const body = { name: name.trim(), expiresInDays: days, role };
      return (await api.createPersonalToken({ client: hub.client, body, throwOnError: true })).data;
    },
    onSuccess: async (token) => {
      onCreated(token);
      await askAgain({ queryKey: KEY });
    },
  });
  return (
    <LineForm
      action={words.create}
      refused={words.refused}
      isComplete={name.trim() !== ''}
      mutation={creation}
    >
      <TextField
        id="token-name"
        label={words.name}
        maxLength={100}
        placeholder={words.namePlaceholder}
        value={name}
        onChange={setName}
      />
      <ChoiceField
        id="token-days"
        label={words.days}
        value={days}
        options={DAYS.map((each) => [each, words.daysOf(numberText(each, language))])}
        onChange={setDays}
      />
      <ChoiceField
        id="token-role"
        label={words.role}
        value={role}
        options={roles.map((each) => [each, words.roles[each]])}
        onChange={setRole}
      />
    </LineForm>
  );
}

/** Roles that a token of the person may have. */
function rolesFor(person: Person | undefined) {
  const held = ROLES.filter((role) => holdsRole(person, role));
  return holdsRole(person, 'ADMIN') ? [...held, 'METRICS' as const] : held;
}

function Tokens() {
  const words = useWords<typeof en>({ en, de });
  const [revoked, setRevoked] = useState<api.PersonalToken>();
  const query = useQuery({
    queryKey: KEY,
    queryFn: ({ signal }) =>
      allPages((page) =>
        api.listPersonalTokens({ client: hub.client, query: page, signal, throwOnError: true }),
      ),
  });
  const { data } = query;
  return (
    <div className="card table-card">
      <NoData query={query} lines={4} />
      {data?.length === 0 && (
        <Empty icon="shield" title={words.none}>
          <p>{words.noneMore}</p>
        </Empty>
      )}
      {data && data.length > 0 && (
        <DataTable
          columns={[
            words.columns.name,
            words.columns.role,
            [words.columns.created, 'detail'],
            [words.columns.used, 'detail'],
            [words.columns.expires, 'date'],
            [words.columns.actions, 'actions'],
          ]}
        >
          {data.map((token) => (
            <TokenRow key={token.id} token={token} onRevoke={() => setRevoked(token)} />
          ))}
        </DataTable>
      )}
      <ConfirmDialog
        question={
          revoked && {
            icon: 'trash',
            label: words.revoke,
            title: words.revokeTitle(revoked.name),
            more: words.revokeMore,
            act: async () => {
              await api.revokePersonalToken({
                client: hub.client,
                path: { id: revoked.id },
                throwOnError: true,
              });
              await askAgain({ queryKey: KEY });
            },
          }
        }
        onClose={() => setRevoked(undefined)}
      />
    </div>
  );
}

interface TokenRowProps {
  readonly token: api.PersonalToken;
  readonly onRevoke: () => void;
}

function TokenRow({ token, onRevoke }: TokenRowProps) {
  const words = useWords<typeof en>({ en, de });
  const hubTime = useHubTime();
  const time = (local: string | undefined) => {
    const at = hubTime(local);
    return at === undefined ? null : <Time at={at} />;
  };
  return (
    <tr>
      <th scope="row">
        <span className="item-name">{token.name}</span>
      </th>
      <td className="quiet">{words.roles[token.role]}</td>
      <td className="detail faint">{time(token.createdDatetime)}</td>
      <td className="detail faint">
        {token.lastUsedDatetime === undefined ? words.never : time(token.lastUsedDatetime)}
      </td>
      <td className="date faint">{time(token.expiresDatetime)}</td>
      <td className="actions">
        <button
          type="button"
          className="button plain only-icon"
          aria-label={`${words.revoke}: ${token.name}`}
          title={words.revoke}
          onClick={onRevoke}
        >
          <Icon name="trash" />
        </button>
      </td>
    </tr>
  );
}
