import { Icon } from '../../icons/icon.js';

/** A place that says why a login failed; it is there before, so that it is read out. */
export function LogInFault({ text }: { readonly text: string | undefined }) {
  return (
    <div role="alert">
      {text !== undefined && (
        <div className="notice of-failed">
          <Icon name="triangle-exclamation-point" />
          <span>{text}</span>
        </div>
      )}
    </div>
  );
}
