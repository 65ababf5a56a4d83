// Forms that create or change a group.

import { type ReactNode, useState } from "react";
import type { Group } from "../../../client/package.ts";
import { addressOf, isUidPart, segmentOf } from "../address.ts";
import { Conflict, type Shown, useVersion, type Version } from "../conflict.tsx";
import { FormDialog } from "../form-dialog.tsx";
import { NewForm } from "../new-form.tsx";
import { announce } from "../parts.tsx";
import { useSend } from "../send.ts";
import { TextField } from "../text-field.tsx";
import { texts } from "../texts/group.ts";
import { createGroup, groupVersion, updateGroup } from "./requests.ts";

interface NewGroupProps {
  readonly parent: string;
  readonly names: readonly string[];
  readonly onClose: () => void;
}

export const NewGroupForm = ({ parent, names, onClose }: NewGroupProps): ReactNode => (
  <NewForm
    title={texts.newGroup}
    about={texts.noGroupsText}
    texts={texts}
    create={(draft) => createGroup(parent, draft)}
    addressOf={(group) => addressOf([...names, segmentOf(group)])}
    done={texts.groupCreated}
    onClose={onClose}
  />
);

type Draft = Pick<Group, "name" | "description" | "authorApproval">;

const fields = ["name", "description", "authorApproval"] as const;

const shownOf = ({ name, description, authorApproval }: Draft): readonly Shown[] => [
  [texts.name, name],
  [texts.descriptionOptional, description],
  [texts.authorApproval, authorApproval ? texts.yes : texts.no],
];

interface EditGroupProps {
  readonly version: Version<Group>;
  /** Segments of the address of the group. */
  readonly names: readonly string[];
  readonly mayApprove: boolean;
  readonly onClose: () => void;
}

export const EditGroupForm = ({ version, names, mayApprove, onClose }: EditGroupProps): ReactNode => {
  const [typed, setTyped] = useState<Draft>(version.resource);
  const [isChecked, setChecked] = useState(false);
  const { problems, isSending, send, clear } = useSend(fields);
  const { base, choices } = useVersion(version, (stored) => setTyped(stored), clear);
  const { uid, verified } = base.resource;
  const draft: Draft = { name: typed.name.trim(), description: typed.description.trim(), authorApproval: typed.authorApproval };
  const changed = fields.filter((field) => draft[field] !== base.resource[field]);
  const question = updateGroup({ uid, ...Object.fromEntries(changed.map((field) => [field, draft[field]])) }, changed, base.etag);
  const next = ({ name }: Group): string | undefined =>
    name === version.resource.name || isUidPart(names.at(-1) ?? "") ? undefined : addressOf([...names.slice(0, -1), segmentOf({ uid, name })]);
  const submit = async (): Promise<void> => {
    setChecked(true);
    if (draft.name === "" || isSending) return;
    if (changed.length > 0 && !(await send(question, next))) return;
    onClose();
    announce(texts.groupChanged);
  };
  return (
    <FormDialog
      title={texts.editGroup}
      button={texts.save}
      question={question}
      message={problems.message}
      conflict={problems.isConflict ? <Conflict read={groupVersion(uid)} shownOf={shownOf} mine={shownOf(draft)} {...choices} /> : null}
      isSending={isSending}
      submit={() => void submit()}
      onClose={onClose}
    >
      {verified ? (
        <p className="quiet">{texts.nameFixed}</p>
      ) : (
        <TextField
          label={texts.name}
          about={draft.name === base.resource.name ? texts.nameHint : texts.renameText}
          problem={isChecked && draft.name === "" ? texts.nameHint : problems.fields.name}
          value={typed.name}
          onChange={(name) => setTyped({ ...typed, name })}
          required
          isFirst
        />
      )}
      <TextField
        label={texts.descriptionOptional}
        problem={problems.fields.description}
        value={typed.description}
        onChange={(description) => setTyped({ ...typed, description })}
      />
      {mayApprove ? (
        <label className="check">
          <input type="checkbox" checked={typed.authorApproval} onChange={({ target }) => setTyped({ ...typed, authorApproval: target.checked })} />
          {texts.authorApproval}
        </label>
      ) : null}
    </FormDialog>
  );
};
