// Repos that a search by a part of the name finds, as choices of a picker.

import { useState } from "react";
import type { Choice } from "../access/picker.tsx";
import { useAsk } from "../api.ts";
import { shortUid } from "../format.ts";
import { queryLengthMin, search } from "../questions.ts";

interface Repos {
  readonly choices: readonly Choice[];
  readonly onType: (text: string) => void;
}

/** `group`: only repos below it. */
export const useRepos = (group?: string): Repos => {
  const [typed, setTyped] = useState("");
  const found = useAsk([...typed].length >= queryLengthMin ? search(typed, ["Repo"]) : undefined, { keep: true }).data?.data.results ?? [];
  const shown = found.filter(({ uid }) => group === undefined || uid.startsWith(`${group}/`));
  return { choices: shown.map(({ uid, name, path }) => ({ value: uid, title: path || name, detail: shortUid(uid) })), onType: setTyped };
};
