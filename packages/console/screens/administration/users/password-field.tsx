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
export function PasswordField({ id, label, value, onChange }: PasswordFieldProps) {
  const words = useWords<typeof en>({ en, de });
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        className="input"
        type="password"
        autoComplete="new-password"
        placeholder={words.passwordHint}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </div>
  );
}
