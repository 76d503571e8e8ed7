import { useQuery } from '@tanstack/react-query';
import { api } from '@workbench-hub/client';
import { useState } from 'react';
import { usePreferences } from '../../../base/preference-store.js';
import { allPages } from '../../../data/all-pages.js';
import { hub, usePerson } from '../../../data/hub.js';
import { useHubTime } from '../../../data/hub-offset.js';
import { DataTable } from '../../../design/data-table.js';
import { Empty, NoData } from '../../../design/states.js';
import { Time } from '../../../design/time.js';
import { Icon } from '../../../icons/icon.js';
import { useWords } from '../../../words/dictionary.js';
import { numberText } from '../../../words/formats.js';
import { NewUser } from './new-user.js';
import { UserActions } from './user-actions.js';
import { roleOf, USERS_KEY } from './user-roles.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const COLUMNS = 6;

/** Users of the hub: their roles, sessions and tokens. */
export function Users() {
  const words = useWords<typeof en>({ en, de });
  if (usePerson()?.by !== 'OPEN_HUB') {
    return (
      <>
        <NewUser />
        <UserList />
      </>
    );
  }
  return (
    <div className="card table-card">
      <Empty icon="user" title={words.openHub}>
        <p>{words.openHubMore}</p>
      </Empty>
    </div>
  );
}

function UserList() {
  const words = useWords<typeof en>({ en, de });
  const person = usePerson();
  const [managed, setManaged] = useState<string>();
  const query = useQuery({
    queryKey: USERS_KEY,
    queryFn: ({ signal }) =>
      allPages((page) => api.listUsers({ client: hub.client, query: page, signal, throwOnError: true })),
  });
  return (
    <section className="card table-card" aria-label={words.users}>
      <NoData query={query} lines={4} />
      {query.data && (
        <DataTable
          className="user-table lined-table"
          columns={[
            words.columns.user,
            words.columns.role,
            words.columns.state,
            [words.columns.sessions, 'detail'],
            [words.columns.login, 'detail'],
            [words.columns.actions, 'actions'],
          ]}
        >
          {query.data.map((user) => (
            <UserRow
              key={user.username}
              user={user}
              isManaged={managed === user.username}
              onManage={(isManaged) => setManaged(isManaged ? user.username : undefined)}
            />
          ))}
        </DataTable>
      )}
      {person?.by === 'SIGN_ON' && <p className="faint user-note">{words.signOn}</p>}
    </section>
  );
}

interface UserRowProps {
  readonly user: api.HubUser;
  readonly isManaged: boolean;
  readonly onManage: (isManaged: boolean) => void;
}

function UserRow({ user, isManaged, onManage }: UserRowProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const hubTime = useHubTime();
  const person = usePerson();
  const { username, disabled, sessions } = user;
  const role = roleOf(user);
  const loginAt = hubTime(user.latestLoginDatetime);
  return (
    <>
      <tr>
        <th scope="row">
          <span className="item-name">{username}</span>
          {person?.by === 'SESSION' && person.username === username && (
            <span className="tag">{words.you}</span>
          )}
          {user.origin === 'CONFIGURATION' && <span className="tag">{words.configured}</span>}
        </th>
        <td className="quiet user-role">{role === undefined ? words.noRole : words.roles[role]}</td>
        <td className="user-state">
          <span className={`status plain ${disabled ? 'of-canceled' : 'of-finished'}`}>
            <Icon name={disabled ? 'ban' : 'circle-check'} size={14} />
            {disabled ? words.disabled : words.enabled}
          </span>
        </td>
        <td className="detail faint numbers">{numberText(sessions, language)}</td>
        <td className="detail faint">{loginAt === undefined ? words.none : <Time at={loginAt} />}</td>
        <td className="actions">
          <button
            type="button"
            className="button plain"
            aria-label={`${words.manage}: ${username}`}
            aria-expanded={isManaged}
            onClick={() => onManage(!isManaged)}
          >
            {words.manage}
          </button>
        </td>
      </tr>
      {isManaged && (
        <tr className="user-managed">
          <td colSpan={COLUMNS}>
            <UserActions user={user} />
          </td>
        </tr>
      )}
    </>
  );
}
