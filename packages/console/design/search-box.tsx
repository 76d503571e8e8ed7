import { Icon } from '../icons/icon.js';

interface SearchBoxProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** The field of a bar of filters by which a name is found. */
export function SearchBox({ label, value, onChange }: SearchBoxProps) {
  return (
    <span className="with-icon name">
      <Icon name="search" />
      <input
        type="search"
        className="input"
        aria-label={label}
        placeholder={label}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </span>
  );
}
