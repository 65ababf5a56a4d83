// Shows a failed view as one sentence with a way on, instead of an empty page.

import { Component, type ReactNode } from "react";
import { Failure } from "./parts.tsx";

interface BoundaryProps {
  readonly children: ReactNode;
}

export class Boundary extends Component<BoundaryProps, { readonly error: unknown }> {
  override state: { readonly error: unknown } = { error: undefined };

  static getDerivedStateFromError(error: unknown): { readonly error: unknown } {
    return { error };
  }

  override render(): ReactNode {
    return this.state.error === undefined ? this.props.children : <Failure error={this.state.error} retry={() => location.reload()} />;
  }
}
