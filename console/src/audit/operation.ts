// The name of an operation as words of a sentence.

/** "chainguard.platform.iam.v2.GroupsService/CreateGroup": ["Create", "group"]; undefined for what is no operation. */
const wordsOf = (operation: string): readonly string[] | undefined => {
  const name = operation.slice(operation.lastIndexOf("/") + 1);
  if (!/^[A-Z][A-Za-z0-9]+$/.test(name) || !operation.includes("/")) return undefined;
  const [first = "", ...words] = name.split(/(?=[A-Z][a-z])/);
  return [first, ...words.map((word) => word.toLowerCase())];
};

/** "Create group" */
export const titleOf = (operation: string): string => wordsOf(operation)?.join(" ") ?? operation;

const irregular: Readonly<Record<string, string>> = {
  apply: "applied",
  cancel: "canceled",
  get: "got",
  put: "put",
  read: "read",
  reset: "reset",
  send: "sent",
  set: "set",
  submit: "submitted",
  undo: "undid",
  withdraw: "withdrew",
};

const pastOf = (verb: string): string => irregular[verb] ?? (verb.endsWith("e") ? `${verb}d` : `${verb}ed`);

const withArticle = (noun: string): string => {
  if (noun === "" || noun.endsWith("s")) return noun;
  return /^[aeio]/.test(noun) ? `an ${noun}` : `a ${noun}`;
};

export interface Deed {
  /** "created a group" */
  readonly done: string;
  /** "create a group" */
  readonly tried: string;
}

/** What an operation does, in words; undefined for what is no operation. */
export const deedOf = (operation: string): Deed | undefined => {
  const words = wordsOf(operation);
  if (!words) return undefined;
  const [verb = "", ...rest] = words[0] === "Batch" ? words.slice(1) : words;
  const noun = withArticle(rest.join(" "));
  const plain = verb.toLowerCase();
  return { done: `${pastOf(plain)} ${noun}`.trim(), tried: `${plain} ${noun}`.trim() };
};
