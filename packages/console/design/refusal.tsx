/** Refusal of an action by the hub, after words of the screen. */
export function Refusal({ words, error }: { readonly words: string; readonly error: Error }) {
  return (
    <p className="notice of-failed" role="alert">
      <span>
        {words} {error.message}
      </span>
    </p>
  );
}
