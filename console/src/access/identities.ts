// Identities to choose from: the caller, those of the page, and those that a search finds.

import { useState } from "react";
import type { RoleBinding } from "../../../client/package.ts";
import { useAsk } from "../api.ts";
import { shortUid } from "../format.ts";
import { type Place, queryLengthMin, search, whoAmI } from "../questions.ts";
import { texts } from "../texts/access.ts";
import { identityName } from "./access-path.tsx";
import type { Choice } from "./picker.tsx";
import { bindingsAt } from "./requests.ts";

interface Identities {
  readonly choices: readonly Choice[];
  readonly onType: (text: string) => void;
}

/** The role bindings that the page shows. */
const useShown = (path: readonly Place[]): RoleBinding[] => {
  const [first, last] = [path[0]?.uid ?? "", path.at(-1)?.uid ?? ""];
  const above = useAsk(bindingsAt(first), { onlyKnown: true }).data?.data.roleBindings ?? [];
  const here = useAsk(bindingsAt(last), { onlyKnown: true }).data?.data.roleBindings ?? [];
  return [...here, ...above];
};

/** `about` is the uid of an identity whose name is needed. */
export const useIdentities = (path: readonly Place[], about = ""): Identities => {
  const [typed, setTyped] = useState(about);
  const shown = useShown(path);
  const found = useAsk([...typed].length >= queryLengthMin ? search(typed, ["Identity"]) : undefined, { keep: true }).data?.data.results ?? [];
  const me = useAsk(whoAmI()).data?.data;
  const choices = new Map<string, Choice>();
  const add = (value: string, title: string, detail: string): void => {
    if (value === "" || choices.has(value)) return;
    const own = title === "" ? value : title;
    choices.set(value, { value, title: value === me?.subject ? texts.ownName(own) : own, detail });
  };
  for (const binding of shown) add(binding.identityUid, identityName(binding), binding.identity?.description || shortUid(binding.identityUid));
  for (const { uid, name, path: at } of found) add(uid, name, at || shortUid(uid));
  if (me) add(me.subject, me.profile?.name || me.email || "", shortUid(me.subject));
  return { choices: [...choices.values()], onType: setTyped };
};
