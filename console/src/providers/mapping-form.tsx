// Maps a group of an identity provider to a role.

import { type ReactNode, useState } from "react";
import type { IdentityProvider } from "../../../client/package.ts";
import { Picker } from "../access/picker.tsx";
import { isUid } from "../address.ts";
import { FormDialog } from "../form-dialog.tsx";
import { announce, nameOr } from "../parts.tsx";
import type { Place } from "../questions.ts";
import { roleChoices, useRoles } from "../roles.ts";
import { useSend } from "../send.ts";
import { TextField } from "../text-field.tsx";
import { texts } from "../texts/providers.ts";
import { createMapping } from "./requests.ts";

interface MappingFormProps {
  readonly provider: IdentityProvider;
  readonly path: readonly Place[];
  readonly onClose: () => void;
}

export const MappingForm = ({ provider, path, onClose }: MappingFormProps): ReactNode => {
  // Mappings apply to the organization.
  const organization = path[0] ?? { uid: "", name: "" };
  const [externalGroupId, setGroup] = useState("");
  const [roleUid, setRole] = useState("");
  const [isChecked, setChecked] = useState(false);
  const roles = useRoles([organization]);
  const { problems, isSending, send } = useSend(["externalGroupId", "roleUid", "scope"]);
  // The provider's own spelling counts, with its spaces.
  const question = createMapping(provider.uid, { externalGroupId, roleUid, scope: organization.uid });
  const submit = async (): Promise<void> => {
    setChecked(true);
    if (externalGroupId === "" || !isUid(roleUid) || isSending || !(await send(question))) return;
    onClose();
    announce(texts.mappingAdded);
  };
  return (
    <FormDialog title={texts.addMapping} question={question} message={problems.message} isSending={isSending} submit={() => void submit()} onClose={onClose}>
      <p className="quiet">
        {texts.appliesTo} <strong>{nameOr(organization.name, organization.uid)}</strong> {texts.andBelow} {texts.mappingEffect}
      </p>
      <TextField
        label={texts.externalGroup}
        about={texts.externalGroupHint}
        problem={isChecked && externalGroupId === "" ? texts.externalGroupHint : problems.fields.externalGroupId}
        value={externalGroupId}
        onChange={setGroup}
        required
        isFirst
      />
      <Picker
        label={texts.role}
        hint={texts.roleHint}
        problem={isChecked && !isUid(roleUid) ? texts.roleUnknown : (problems.fields.roleUid ?? problems.fields.scope)}
        value={roleUid}
        choices={roleChoices(roles)}
        onChange={setRole}
        required
      />
    </FormDialog>
  );
};
