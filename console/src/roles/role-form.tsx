// Adds or changes a custom role.

import { type ReactNode, useState } from "react";
import { capabilityChoices } from "../../../client/gen/choices.ts";
import type { Capability, Role } from "../../../client/package.ts";
import { mine } from "../access/requests.ts";
import { nameOfSymbol } from "../access/symbols.ts";
import { useAsk } from "../api.ts";
import { type CheckItem, CheckGroups } from "../check-groups.tsx";
import { FormDialog } from "../form-dialog.tsx";
import { announce, nameOr } from "../parts.tsx";
import type { Place } from "../questions.ts";
import { Conflict, type Shown, useVersion, type Version } from "../conflict.tsx";
import { useSend } from "../send.ts";
import { TextField } from "../text-field.tsx";
import { texts } from "../texts/roles.ts";
import { createRole, roleAt, updateRole } from "./requests.ts";

/** "gantry.deletions.list" is of "gantry.deletions", other capabilities are of their first word. */
const serviceOf = (name: string): string =>
  name
    .split(".")
    .slice(0, name.startsWith("gantry.") ? 2 : 1)
    .join(".")
    .replaceAll("_", " ");

const itemsFor = (own: ReadonlySet<string>, chosen: ReadonlySet<Capability>): readonly CheckItem<Capability>[] =>
  capabilityChoices
    .filter(({ symbol, name, internalOnly = false }) => !internalOnly || own.has(name) || chosen.has(symbol))
    .map(({ symbol, name }) => ({ value: symbol, title: name, group: serviceOf(name), isDisabled: !own.has(name) && !chosen.has(symbol) }));

interface Draft {
  readonly name: string;
  readonly description: string;
  readonly capabilities: ReadonlySet<Capability>;
}

const draftOf = ({ name, description, capabilities }: Pick<Role, "name" | "description" | "capabilities">): Draft => ({
  name,
  description,
  capabilities: new Set(capabilities),
});

const shownOf = ({ name, description, capabilities }: Draft): readonly Shown[] => [
  [texts.name, name],
  [texts.description, description],
  [texts.capabilities, [...capabilities].map(nameOfSymbol).sort().join(", ")],
];

interface RoleFormProps {
  /** The group of the role. */
  readonly place: Place;
  /** The role to change; undefined: add one. */
  readonly version?: Version<Role> | undefined;
  readonly onClose: () => void;
  readonly onAdded?: (uid: string) => void;
}

export const RoleForm = ({ place, version, onClose, onAdded }: RoleFormProps): ReactNode => {
  const own = new Set(useAsk(mine(place.uid)).data?.data.capabilities);
  const [draft, setDraft] = useState(draftOf(version?.resource ?? { name: "", description: "", capabilities: [] }));
  const [isChecked, setChecked] = useState(false);
  const { problems, isSending, send, clear } = useSend(["name", "description", "capabilities"]);
  const { base, choices } = useVersion(version, (stored) => setDraft(draftOf(stored)), clear);
  const set = (change: Partial<Draft>): void => setDraft({ ...draft, ...change });
  const trimmed = { ...draft, name: draft.name.trim(), description: draft.description.trim() };
  const { name, description } = trimmed;
  const capabilities = capabilityChoices.map(({ symbol }) => symbol).filter((symbol) => draft.capabilities.has(symbol));
  const question = base
    ? updateRole({ uid: base.resource.uid, name, description, capabilities }, ["name", "description", "capabilities"], base.etag)
    : createRole(place.uid, { name, ...(description === "" ? {} : { description }), capabilities });
  const submit = async (): Promise<void> => {
    setChecked(true);
    if (name === "" || capabilities.length === 0 || isSending) return;
    const answer = await send(question);
    if (!answer) return;
    onClose();
    announce(base ? texts.roleChanged : texts.roleAdded);
    onAdded?.(answer.data.uid);
  };
  return (
    <FormDialog
      title={base ? texts.editRole : texts.newRole}
      question={question}
      message={problems.message}
      conflict={
        base && problems.isConflict ? (
          <Conflict read={roleAt(base.resource.uid)} shownOf={(role) => shownOf(draftOf(role))} mine={shownOf(trimmed)} {...choices} />
        ) : null
      }
      isSending={isSending}
      submit={() => void submit()}
      onClose={onClose}
    >
      <p className="quiet">
        {texts.usableIn} <strong>{nameOr(place.name, place.uid)}</strong> {texts.andBelowIt} {base ? texts.editEffect : ""}
      </p>
      <TextField
        label={texts.name}
        about={texts.nameHint}
        problem={isChecked && name === "" ? texts.nameHint : problems.fields.name}
        value={draft.name}
        onChange={(value) => set({ name: value })}
        required
        isFirst
      />
      <TextField
        label={texts.descriptionOptional}
        problem={problems.fields.description}
        value={draft.description}
        onChange={(value) => set({ description: value })}
      />
      <CheckGroups
        label={texts.capabilities}
        about={texts.capabilitiesHint}
        problem={isChecked && capabilities.length === 0 ? texts.capabilityRequired : problems.fields.capabilities}
        items={itemsFor(own, draft.capabilities)}
        chosen={draft.capabilities}
        onChange={(chosen) => set({ capabilities: chosen })}
      />
    </FormDialog>
  );
};
