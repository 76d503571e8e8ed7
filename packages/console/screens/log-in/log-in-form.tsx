import { type FormEvent, useState } from 'react';
import { session } from '../../data/hub.js';
import { TextField } from '../../design/text-field.js';
import { LogInRefused } from '../../session/session.js';
import { useWords } from '../../words/dictionary.js';
import { LogInFault } from './log-in-fault.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const UNAUTHORIZED = 401;
const TOO_MANY = 429;

function faultText(error: unknown, words: typeof en): string {
  if (!(error instanceof LogInRefused)) return words.unreachable;
  if (error.status === UNAUTHORIZED) return words.wrong;
  if (error.status === TOO_MANY) return words.tooMany(String(error.retryAfterS));
  return words.failed(String(error.status));
}

/** Fields and button of the login; says why the hub refuses. */
export function LogInForm({ username: before }: { readonly username: string }) {
  const words = useWords<typeof en>({ en, de });
  const [username, setUsername] = useState(before);
  const [password, setPassword] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<string>();
  const submit = async () => {
    setBusy(true);
    setFault(undefined);
    try {
      await session.logIn(username, password);
    } catch (error) {
      setPassword('');
      setFault(faultText(error, words));
    } finally {
      setBusy(false);
    }
  };
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    void submit();
  };
  return (
    <form onSubmit={onSubmit}>
      <TextField
        id="username"
        label={words.username}
        autoComplete="username"
        autoCapitalize="none"
        spellCheck={false}
        required
        value={username}
        onChange={setUsername}
      />
      <TextField
        id="password"
        label={words.password}
        type="password"
        autoComplete="current-password"
        required
        value={password}
        onChange={setPassword}
      />
      <LogInFault text={fault} />
      <button type="submit" className="button primary" disabled={isBusy}>
        {words.logIn}
      </button>
    </form>
  );
}
