import { useMutation } from '@tanstack/react-query';
import { api } from '@workbench-hub/client';
import { type FormEvent, useState } from 'react';
import { hub } from '../../../data/hub.js';
import { askAgain } from '../../../data/query-client.js';
import { ChoiceField } from '../../../design/choice.js';
import { Refusal } from '../../../design/refusal.js';
import { Icon } from '../../../icons/icon.js';
import { useWords } from '../../../words/dictionary.js';
import { PasswordField } from './password-field.js';
import { ROLES, type Role, USERS_KEY } from './user-roles.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** Form that adds a user. */
export function NewUser() {
  const words = useWords<typeof en>({ en, de });
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const [role, setRole] = useState<Role>('USER');
  const { mutate, isPending, error } = useMutation({
    mutationFn: async () => {
      const body = { username: name.trim(), password, roles: [role] };
      await api.addUser({ client: hub.client, body, throwOnError: true });
    },
    onSuccess: async () => {
      setName('');
      setPassword('');
      await askAgain({ queryKey: USERS_KEY });
    },
  });
  const isComplete = name.trim() !== '' && password !== '';
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isComplete) mutate();
  };
  return (
    <form className="card line-form" onSubmit={submit} aria-label={words.add}>
      <div className="field wide">
        <label htmlFor="user-name">{words.name}</label>
        <input
          id="user-name"
          className="input"
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          placeholder="nora"
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </div>
      <PasswordField id="user-password" label={words.password} value={password} onChange={setPassword} />
      <ChoiceField
        id="user-role"
        label={words.role}
        value={role}
        options={ROLES.map((each) => [each, words.roles[each]])}
        onChange={setRole}
      />
      <button type="submit" className="button primary" disabled={isPending || !isComplete}>
        <Icon name="plus" />
        {words.addButton}
      </button>
      {error && <Refusal words={words.refused} error={error} />}
    </form>
  );
}
