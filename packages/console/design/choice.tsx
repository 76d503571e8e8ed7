/** Values to choose from, with their words. */
type Options<Value extends string | number> = readonly (readonly [value: Value, text: string])[];

interface ChoiceProps<Value extends string | number> {
  readonly label: string;
  readonly value: Value;
  readonly options: Options<Value>;
  readonly onChange: (value: Value) => void;
}

/** A choice in a form, beneath its label. */
export function ChoiceField<Value extends string | number>({
  id,
  label,
  ...choice
}: ChoiceProps<Value> & { readonly id: string }) {
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <Choice id={id} {...choice} />
    </div>
  );
}

interface ChoiceChipProps<Value extends string | number> extends ChoiceProps<Value> {
  /** Whether it needs all of the width of a phone. */
  readonly isLong?: boolean;
}

/** A choice in a bar of filters, beside its label. */
export function ChoiceChip<Value extends string | number>({
  label,
  isLong = false,
  ...choice
}: ChoiceChipProps<Value>) {
  return (
    <div className={isLong ? 'chip long' : 'chip'}>
      <span aria-hidden="true">{label}</span>
      <Choice label={label} {...choice} />
    </div>
  );
}

function Choice<Value extends string | number>({
  id,
  label,
  value,
  options,
  onChange,
}: Omit<ChoiceProps<Value>, 'label'> & { readonly id?: string; readonly label?: string }) {
  return (
    <select
      id={id}
      className="input"
      aria-label={label}
      value={value}
      onChange={({ target }) => {
        const chosen = options.find(([each]) => String(each) === target.value);
        if (chosen) onChange(chosen[0]);
      }}
    >
      {options.map(([each, text]) => (
        <option key={each} value={each}>
          {text}
        </option>
      ))}
    </select>
  );
}
