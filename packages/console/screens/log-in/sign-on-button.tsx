import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useStore } from '../../base/store.js';
import { session } from '../../data/hub.js';
import { LogInRefused } from '../../session/session.js';
import { goToSignOn, openSignOn, SignOnDenied } from '../../session/sign-on.js';
import { useWords } from '../../words/dictionary.js';
import { LogInFault } from './log-in-fault.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const UNAUTHORIZED = 401;
const FORBIDDEN = 403;
const UNAVAILABLE = 503;

/** Login by the company's sign-on, where there is one. `inWindow`: beside the page, which stays as it is. */
export function SignOnButton({ inWindow = false }: { readonly inWindow?: boolean }) {
  const words = useWords<typeof en>({ en, de });
  const state = useStore(session.state);
  const [fault, setFault] = useState<unknown>(state.status === 'ended' ? state.fault : undefined);
  const { data: issuer } = useQuery({
    queryKey: ['sign-on'],
    queryFn: async () => (await session.signOnIssuer()) ?? '',
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (issuer === undefined || issuer === '') return null;
  const begin = () => {
    setFault(undefined);
    if (inWindow) openSignOn();
    else goToSignOn(session).catch(setFault);
  };
  return (
    <div className="sign-on">
      <LogInFault text={fault === undefined ? undefined : faultText(fault, words)} />
      <button type="button" className="button primary" onClick={begin}>
        {words.signOn}
      </button>
      <p className="faint">
        {words.signOnAt(new URL(issuer).host)}
        {inWindow && ` · ${words.signOnWindow}`}
      </p>
      <p className="or">{words.orPassword}</p>
    </div>
  );
}

function faultText(fault: unknown, words: typeof en): string {
  if (fault instanceof SignOnDenied) return words.signOnDenied;
  if (!(fault instanceof LogInRefused)) return words.unreachable;
  if (fault.status === UNAUTHORIZED) return words.signOnUnfinished;
  if (fault.status === FORBIDDEN) return words.signOnForbidden(fault.message);
  if (fault.status === UNAVAILABLE) return words.signOnAway;
  return words.failed(String(fault.status));
}
