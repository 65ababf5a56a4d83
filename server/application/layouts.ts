// Imports and exports OCI layouts as the operator.

import { exportLayout, importLayout, type LayoutSummary, type LayoutWork } from "#registry/collection";
import type { Application } from "./application.ts";
import { operatorRegistryCalls } from "./operator-calls.ts";

export type LayoutOptions = Omit<LayoutWork, "call">;

export const importOciLayout = ({ serve, services }: Application, options: LayoutOptions): Promise<LayoutSummary> =>
  importLayout({ ...options, call: operatorRegistryCalls(serve, services) });

/** @param references tags and digests; empty: all tags */
export const exportOciLayout = ({ serve, services }: Application, options: LayoutOptions, references: readonly string[]): Promise<LayoutSummary> =>
  exportLayout({ ...options, call: operatorRegistryCalls(serve, services) }, references);
