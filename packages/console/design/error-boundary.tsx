import { Component, type ReactNode } from 'react';
import { useCommonWords } from '../words/common.js';
import { Empty } from './states.js';

interface Props {
  /** Shows the children again when it changes. */
  readonly place: string;
  readonly children: ReactNode;
}

interface State {
  readonly error: Error | null;
  readonly place: string;
}

/** Shows an error of its children in their place, such as a part of the console that is gone since an upgrade of the hub. */
export class ErrorBoundary extends Component<Props, State> {
  override state: State = { error: null, place: this.props.place };

  static getDerivedStateFromError(error: Error): Partial<State> {
    return { error };
  }

  static getDerivedStateFromProps({ place }: Props, state: State): State | null {
    return place === state.place ? null : { error: null, place };
  }

  override render(): ReactNode {
    return this.state.error ? <Broken error={this.state.error} /> : this.props.children;
  }
}

function Broken({ error }: { readonly error: Error }) {
  const words = useCommonWords();
  return (
    <div role="alert">
      <Empty icon="triangle-exclamation-point" title={words.broken} isScreen>
        <p>{words.brokenMore}</p>
        <p>{error.message}</p>
        <button type="button" className="button" onClick={() => window.location.reload()}>
          {words.reload}
        </button>
      </Empty>
    </div>
  );
}
