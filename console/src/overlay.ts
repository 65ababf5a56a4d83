// The dialog above the page: search, or the list of keys.

import { useSyncExternalStore } from "react";
import { onForget } from "./session.ts";

export type Overlay = { readonly kind: "search"; readonly query: string } | { readonly kind: "keys" } | undefined;

let overlay: Overlay;
const listeners = new Set<() => void>();

export const showOverlay = (next: Overlay): void => {
  overlay = next;
  for (const listener of listeners) listener();
};
onForget(() => showOverlay(undefined));

export const useOverlay = (): Overlay =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => overlay,
  );

const singleKeys = "gantry-single-keys";

/** WCAG 2.1.4: keys without a modifier can be switched off. */
export const areSingleKeysOn = (): boolean => localStorage.getItem(singleKeys) !== "off";

export const setSingleKeys = (on: boolean): void => {
  if (on) localStorage.removeItem(singleKeys);
  else localStorage.setItem(singleKeys, "off");
};

export const isApple = /Mac|iPhone|iPad/.test(navigator.userAgent);

const takesText = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));

/** Opens search and the list of keys; other dialogs keep their keys. */
export const onKeyDown = (event: KeyboardEvent): void => {
  const { key, ctrlKey, metaKey, altKey, target } = event;
  const isOtherDialog = overlay === undefined && document.querySelector("dialog[open]") !== null;
  if (isOtherDialog || altKey) return;
  const isSearch = (isApple ? metaKey : ctrlKey) && key.toLowerCase() === "k";
  const isSingle = !ctrlKey && !metaKey && overlay === undefined && !takesText(target) && areSingleKeysOn();
  if (isSearch) showOverlay(overlay?.kind === "search" ? undefined : { kind: "search", query: "" });
  else if (isSingle && key === "/") showOverlay({ kind: "search", query: "" });
  else if (isSingle && key === "?") showOverlay({ kind: "keys" });
  else return;
  event.preventDefault();
};
