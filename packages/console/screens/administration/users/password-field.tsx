import { TextField } from '../../../design/text-field.js';
import { useWords } from '../../../words/dictionary.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

interface PasswordFieldProps {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** Field for a new password, which is not shown. */
export function PasswordField(props: PasswordFieldProps) {
  const words = useWords<typeof en>({ en, de });
  return (
    <TextField {...props} type="password" autoComplete="new-password" placeholder={words.passwordHint} />
  );
}
