import { useQuery } from '@tanstack/react-query';
import { api } from '@workbench-hub/client';
import { useState } from 'react';
import { allPages } from '../../../data/all-pages.js';
import { hub } from '../../../data/hub.js';
import { useHubTime } from '../../../data/hub-offset.js';
import { askAgain } from '../../../data/query-client.js';
import { ConfirmDialog } from '../../../design/confirm-dialog.js';
import { NoData } from '../../../design/states.js';
import { Time } from '../../../design/time.js';
import { Icon } from '../../../icons/icon.js';
import { useWords } from '../../../words/dictionary.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** Personal access tokens of a user, to be revoked. */
export function UserTokens({ username }: { readonly username: string }) {
  const words = useWords<typeof en>({ en, de });
  const hubTime = useHubTime();
  const [revoked, setRevoked] = useState<api.PersonalToken>();
  const queryKey = ['tokens', username];
  const query = useQuery({
    queryKey,
    queryFn: ({ signal }) =>
      allPages((page) => {
        const ofUser = { ...page, user: username };
        return api.listPersonalTokens({ client: hub.client, query: ofUser, signal, throwOnError: true });
      }),
  });
  const { data } = query;
  const expiry = ({ expiresDatetime }: api.PersonalToken) => {
    const at = hubTime(expiresDatetime);
    return at === undefined ? null : <Time at={at} />;
  };
  return (
    <div>
      <NoData query={query} lines={1} />
      {data?.length === 0 && <p className="faint">{words.noTokens}</p>}
      {data && data.length > 0 && (
        <ul className="user-tokens" aria-label={words.tokens}>
          {data.map((token) => (
            <li key={token.id}>
              <span className="item-name">{token.name}</span>
              <span className="faint">
                {token.role === 'METRICS' ? words.metrics : words.roles[token.role]}, {words.tokenExpires}{' '}
                {expiry(token)}
              </span>
              <button
                type="button"
                className="button plain only-icon"
                aria-label={`${words.revoke}: ${token.name}`}
                title={words.revoke}
                onClick={() => setRevoked(token)}
              >
                <Icon name="trash" />
              </button>
            </li>
          ))}
        </ul>
      )}
      <ConfirmDialog
        question={
          revoked && {
            icon: 'trash',
            label: words.revoke,
            title: words.revokeTitle(revoked.name),
            more: words.revokeMore,
            act: async () => {
              const path = { id: revoked.id };
              await api.revokePersonalToken({ client: hub.client, path, throwOnError: true });
              await askAgain({ queryKey });
            },
          }
        }
        onClose={() => setRevoked(undefined)}
      />
    </div>
  );
}
