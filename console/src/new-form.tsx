// A form that creates a resource with a name and a description, and opens its page.

import { type ReactNode, useState } from "react";
import type { Question } from "./api.ts";
import { FormDialog } from "./form-dialog.tsx";
import { announce } from "./parts.tsx";
import { useSend } from "./send.ts";
import { TextField } from "./text-field.tsx";
import { texts as shared } from "./texts/pages.ts";

interface Draft {
  readonly name: string;
  /** Absent if it is empty. */
  readonly description?: string;
}

interface NewFormProps<Resource> {
  readonly title: string;
  readonly about: string;
  readonly texts: { readonly nameHint: string; readonly descriptionOptional: string };
  readonly create: (draft: Draft) => Question<Resource>;
  /** Address of the new resource. */
  readonly addressOf: (resource: Resource) => string;
  /** Announced once it exists. */
  readonly done: string;
  readonly onClose: () => void;
}

export const NewForm = <Resource,>({ title, about, texts, create, addressOf, done, onClose }: NewFormProps<Resource>): ReactNode => {
  const [typed, setTyped] = useState({ name: "", description: "" });
  const [isChecked, setChecked] = useState(false);
  const { problems, isSending, send } = useSend(["name", "description"]);
  const [name, description] = [typed.name.trim(), typed.description.trim()];
  const question = create({ name, ...(description === "" ? {} : { description }) });
  const submit = async (): Promise<void> => {
    setChecked(true);
    if (name === "" || isSending || !(await send(question, addressOf))) return;
    announce(done);
  };
  return (
    <FormDialog title={title} question={question} message={problems.message} isSending={isSending} submit={() => void submit()} onClose={onClose}>
      <p className="quiet">{about}</p>
      <TextField
        label={shared.name}
        about={texts.nameHint}
        problem={isChecked && name === "" ? texts.nameHint : problems.fields.name}
        value={typed.name}
        onChange={(value) => setTyped({ ...typed, name: value })}
        required
        isFirst
      />
      <TextField
        label={texts.descriptionOptional}
        problem={problems.fields.description}
        value={typed.description}
        onChange={(value) => setTyped({ ...typed, description: value })}
      />
    </FormDialog>
  );
};
