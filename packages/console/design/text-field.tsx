import type { ComponentProps } from 'react';

interface TextFieldProps extends Omit<ComponentProps<'input'>, 'onChange' | 'className'> {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** A field for a text in a form, beneath its label. */
export function TextField({ label, onChange, ...input }: TextFieldProps) {
  return (
    <div className="field">
      <label htmlFor={input.id}>{label}</label>
      <input {...input} className="input" onChange={({ target }) => onChange(target.value)} />
    </div>
  );
}
