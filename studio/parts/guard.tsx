import { Component, type ComponentChildren } from "preact";
import { messageOf } from "../stores/models.ts";
import { Failed } from "./states.tsx";

interface GuardProps {
  /** What is shown: with another, it is tried again. */
  readonly of: string;
  readonly children: ComponentChildren;
}

interface GuardState {
  readonly failed?: string;
}

/** What could not be drawn is said in its place; the rest of the page, and what goes on in it, stays. */
export class Guard extends Component<GuardProps, GuardState> {
  override state: GuardState = {};

  static override getDerivedStateFromError(error: unknown): GuardState {
    return { failed: messageOf(error) };
  }

  override componentDidCatch(error: unknown): void {
    console.error(error);
  }

  override componentDidUpdate({ of }: GuardProps): void {
    if (this.state.failed !== undefined && of !== this.props.of) this.setState({ failed: undefined });
  }

  override render({ children }: GuardProps, { failed }: GuardState) {
    if (failed === undefined) return children;
    return (
      <Failed message={`This could not be drawn (${failed}).`}>
        <p>
          <button type="button" onClick={() => this.setState({ failed: undefined })}>
            Try again
          </button>
        </p>
      </Failed>
    );
  }
}
