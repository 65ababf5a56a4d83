// Parts of the console that are loaded when they are shown.

import { type ComponentType, type LazyExoticComponent, lazy, type ReactNode } from "react";
import { texts } from "./texts.ts";

export const Outdated = (): ReactNode => (
  <p className="banner" role="status">
    {texts.newVersion}{" "}
    <button type="button" className="button" onClick={() => location.reload()}>
      {texts.reload}
    </button>
  </p>
);

/** An old page's files are gone from a newer server: offer to reload. */
export const onDemand = <Props,>(load: () => Promise<ComponentType<Props>>): LazyExoticComponent<ComponentType<Props>> =>
  lazy(async () => {
    try {
      return { default: await load() };
    } catch {
      return { default: Outdated };
    }
  });
