import { useMutation } from '@tanstack/react-query';
import { api } from '@workbench-hub/client';
import { type FormEvent, useState } from 'react';
import { hub, usePerson } from '../../../data/hub.js';
import { askAgain } from '../../../data/query-client.js';
import { ChoiceField } from '../../../design/choice.js';
import { ConfirmDialog } from '../../../design/confirm-dialog.js';
import type { Question } from '../../../design/question.js';
import { Refusal } from '../../../design/refusal.js';
import { useWords } from '../../../words/dictionary.js';
import { PasswordField } from './password-field.js';
import { ROLES, type Role, roleOf, USERS_KEY } from './user-roles.js';
import { UserTokens } from './user-tokens.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** Changes of a user, by what the hub allows: role, password, status, sessions and tokens. */
export function UserActions({ user }: { readonly user: api.HubUser }) {
  const words = useWords<typeof en>({ en, de });
  const person = usePerson();
  const isConfigured = user.origin === 'CONFIGURATION';
  const isOwn = person?.by === 'SESSION' && person.username === user.username;
  return (
    <section className="user-actions" aria-label={user.username}>
      {isConfigured && <p className="quiet">{words.configuredMore}</p>}
      {!isConfigured && isOwn && <p className="quiet">{words.ownMore}</p>}
      {!isConfigured && !isOwn && <RoleForm key={roleOf(user)} user={user} />}
      {!isConfigured && <PasswordForm username={user.username} />}
      <StateButtons user={user} mayDisable={!isConfigured && !isOwn} />
      <UserTokens username={user.username} />
    </section>
  );
}

function RoleForm({ user }: { readonly user: api.HubUser }) {
  const words = useWords<typeof en>({ en, de });
  const present = roleOf(user);
  const [role, setRole] = useState<Role>(present ?? 'VIEWER');
  const { mutate, isPending, error } = useMutation({ mutationFn: () => change(user, { roles: [role] }) });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    mutate();
  };
  return (
    <form className="line-form" onSubmit={submit}>
      <ChoiceField
        id="managed-role"
        label={words.role}
        value={role}
        options={ROLES.map((each) => [each, words.roles[each]])}
        onChange={setRole}
      />
      <button type="submit" className="button" disabled={isPending || role === present}>
        {words.setRole}
      </button>
      {error && <Refusal words={words.refused} error={error} />}
    </form>
  );
}

function PasswordForm({ username }: { readonly username: string }) {
  const words = useWords<typeof en>({ en, de });
  const [password, setPassword] = useState('');
  const { mutate, isPending, isSuccess, error } = useMutation({
    mutationFn: async () => {
      const path = { name: username };
      await api.setUserPassword({ client: hub.client, path, body: { password }, throwOnError: true });
    },
    onSuccess: async () => {
      setPassword('');
      await askAgain({ queryKey: USERS_KEY });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (password !== '') mutate();
  };
  return (
    <form className="line-form" onSubmit={submit}>
      <PasswordField
        id="managed-password"
        label={words.newPassword}
        value={password}
        onChange={setPassword}
      />
      <button type="submit" className="button" disabled={isPending || password === ''}>
        {words.setPassword}
      </button>
      {isSuccess && password === '' && (
        <p className="quiet" role="status">
          {words.passwordSet(username)}
        </p>
      )}
      {error && <Refusal words={words.refused} error={error} />}
    </form>
  );
}

function StateButtons({ user, mayDisable }: { readonly user: api.HubUser; readonly mayDisable: boolean }) {
  const words = useWords<typeof en>({ en, de });
  const [question, setQuestion] = useState<Question>();
  const { username, disabled, sessions } = user;
  const enable = useMutation({ mutationFn: () => change(user, { disabled: false }) });
  const disableQuestion: Question = {
    icon: 'ban',
    label: words.disable,
    title: words.disableTitle(username),
    more: words.disableMore,
    act: () => change(user, { disabled: true }),
  };
  const endQuestion: Question = {
    icon: 'log-out',
    label: words.endSessions,
    title: words.endTitle(username),
    more: words.endMore,
    act: async () => {
      await api.endUserSessions({ client: hub.client, path: { name: username }, throwOnError: true });
      await askAgain({ queryKey: USERS_KEY });
    },
  };
  return (
    <div className="line-form">
      {mayDisable && disabled && (
        <button type="button" className="button" disabled={enable.isPending} onClick={() => enable.mutate()}>
          {words.enable}
        </button>
      )}
      {mayDisable && !disabled && (
        <button type="button" className="button danger" onClick={() => setQuestion(disableQuestion)}>
          {words.disable}
        </button>
      )}
      <button
        type="button"
        className="button"
        disabled={sessions === 0}
        onClick={() => setQuestion(endQuestion)}
      >
        {words.endSessions}
      </button>
      {enable.error && <Refusal words={words.refused} error={enable.error} />}
      <ConfirmDialog question={question} onClose={() => setQuestion(undefined)} />
    </div>
  );
}

async function change({ username }: api.HubUser, body: api.UserChange): Promise<void> {
  await api.changeUser({ client: hub.client, path: { name: username }, body, throwOnError: true });
  await askAgain({ queryKey: USERS_KEY });
}
