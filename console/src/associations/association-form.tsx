// Adds or changes the account association of a group.

import { type ReactNode, useState } from "react";
import type { AccountAssociation } from "../../../client/package.ts";
import { FormDialog } from "../form-dialog.tsx";
import { announce, nameOr } from "../parts.tsx";
import type { Place } from "../questions.ts";
import { useSend } from "../send.ts";
import { TextArea } from "../text-area.tsx";
import { TextField } from "../text-field.tsx";
import { texts } from "../texts/associations.ts";
import { Conflict, useVersion, type Version } from "../conflict.tsx";
import { type Draft, type DraftField, draftFields, draftOf, newDraft, outcomeOf, shownOf } from "./draft.ts";
import { associationAt, createAssociation, updateAssociation } from "./requests.ts";

interface AssociationFormProps {
  /** The group of the association. */
  readonly place: Place;
  /** The association to change; undefined: add one. */
  readonly version?: Version<AccountAssociation> | undefined;
  readonly onClose: () => void;
}

export const AssociationForm = ({ place, version, onClose }: AssociationFormProps): ReactNode => {
  const [draft, setDraft] = useState<Draft>(version ? draftOf(version.resource) : newDraft);
  const [isChecked, setChecked] = useState(false);
  const { problems, isSending, send, clear } = useSend(draftFields);
  const { base, choices } = useVersion(version, (stored) => setDraft(draftOf(stored)), clear);
  const outcome = outcomeOf(draft);
  const question = base ? updateAssociation(base.resource.uid, outcome.association, base.etag) : createAssociation(place.uid, outcome.association);
  const submit = async (): Promise<void> => {
    setChecked(true);
    if (Object.keys(outcome.problems).length > 0 || isSending || !(await send(question))) return;
    announce(base ? texts.associationChanged : texts.associationAdded);
    onClose();
  };
  const propsOf = (field: DraftField) => ({
    label: texts.fields[field],
    problem: (isChecked ? outcome.problems[field] : undefined) ?? problems.fields[field],
    value: draft[field],
    onChange: (value: string): void => setDraft({ ...draft, [field]: value }),
  });
  const lines = { rows: 2, lengthMax: 65_536 };
  return (
    <FormDialog
      title={base ? texts.changeAssociation : texts.addAssociation}
      question={question}
      message={problems.message}
      conflict={
        base && problems.isConflict ? (
          <Conflict read={associationAt(base.resource.uid)} shownOf={(stored) => shownOf(draftOf(stored))} mine={shownOf(draft)} {...choices} />
        ) : null
      }
      isSending={isSending}
      submit={() => void submit()}
      onClose={onClose}
    >
      <p className="quiet">
        {texts.belongTo} <strong>{nameOr(place.name, place.uid)}</strong>. {texts.leaveEmpty}
      </p>
      <TextField {...propsOf("name")} about={texts.nameHint} required isFirst />
      <TextField {...propsOf("description")} />
      <TextField {...propsOf("account")} about={texts.accountHint} />
      <TextField {...propsOf("projectId")} />
      <TextField {...propsOf("projectNumber")} about={texts.projectNumberHint} />
      <TextField {...propsOf("tenantId")} />
      <TextArea {...propsOf("clientIds")} about={texts.clientIdsHint} {...lines} />
      <TextArea {...propsOf("appInstallations")} about={texts.appInstallationsHint} {...lines} />
      <TextArea {...propsOf("serviceBindings")} about={texts.serviceBindingsHint} {...lines} />
    </FormDialog>
  );
};
