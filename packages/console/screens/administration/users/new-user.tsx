import { useMutation } from '@tanstack/react-query';
import { api } from '@workbench-hub/client';
import { useState } from 'react';
import { hub } from '../../../data/hub.js';
import { askAgain } from '../../../data/query-client.js';
import { ChoiceField } from '../../../design/choice.js';
import { LineForm } from '../../../design/line-form.js';
import { TextField } from '../../../design/text-field.js';
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
  const addition = useMutation({
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
  return (
    <LineForm
      label={words.add}
      action={words.addButton}
      refused={words.refused}
      isComplete={name.trim() !== '' && password !== ''}
      mutation={addition}
    >
      <TextField
        id="user-name"
        label={words.name}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        placeholder="nora"
        value={name}
        onChange={setName}
      />
      <PasswordField id="user-password" label={words.password} value={password} onChange={setPassword} />
      <ChoiceField
        id="user-role"
        label={words.role}
        value={role}
        options={ROLES.map((each) => [each, words.roles[each]])}
        onChange={setRole}
      />
    </LineForm>
  );
}
