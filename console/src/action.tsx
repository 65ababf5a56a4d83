// The action whose dialog is open. It is in the address, so that the search can open it too.

import type { ReactNode } from "react";
import { replaceAddress, useAddress, withParameter } from "./address.ts";
import { Icon, type IconName } from "./parts.tsx";

/** Name of the action in the address. */
export const actionParameter = "do";

interface Action {
  readonly current: string | undefined;
  readonly open: (name: string) => void;
  readonly close: () => void;
}

export const useAction = (): Action => {
  const url = useAddress();
  // The page that is open now, which can be the next one.
  const to = (name: string | undefined): void => replaceAddress(withParameter(new URL(location.href), actionParameter, name));
  return { current: url.searchParams.get(actionParameter) ?? undefined, open: to, close: () => to(undefined) };
};

/** A button for an action beside others. */
export const ActionButton = ({ icon, title, onClick }: { readonly icon: IconName; readonly title: string; readonly onClick: () => void }): ReactNode => (
  <button type="button" className="button quiet-button" onClick={onClick}>
    <Icon name={icon} />
    {title}
  </button>
);
