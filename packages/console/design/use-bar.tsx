interface UseBarProps {
  readonly label: string;
  /** Amounts in one unit. */
  readonly used: number;
  readonly total: number;
  /** Whether so little is left that the bar warns. */
  readonly isScarce: boolean;
  /** Amounts in words, beside the label. */
  readonly text: string;
  /** Words at the end of the line. */
  readonly more?: string | undefined;
}

/** Share of something bounded that is used. */
export function UseBar({ label, used, total, isScarce, text, more }: UseBarProps) {
  return (
    <div className={`use-bar ${isScarce ? 'of-failed' : 'of-running'}`}>
      <span>
        <strong>{label}</strong> <span className="quiet numbers">{text}</span>
      </span>
      <span className="numbers">{more}</span>
      <meter aria-label={label} min={0} max={total} value={Math.min(used, total)} />
    </div>
  );
}
