import { Icon } from '../icons/icon.js';

interface MoreButtonProps {
  readonly label: string;
  readonly query: {
    readonly hasNextPage: boolean;
    readonly isFetchingNextPage: boolean;
    readonly fetchNextPage: () => unknown;
  };
}

/** A button for the next window of a list; nothing at its end. */
export function MoreButton({ label, query }: MoreButtonProps) {
  if (!query.hasNextPage) return null;
  return (
    <button
      type="button"
      className="button plain show-more"
      disabled={query.isFetchingNextPage}
      onClick={() => void query.fetchNextPage()}
    >
      <Icon name="chevron-down" />
      {label}
    </button>
  );
}
