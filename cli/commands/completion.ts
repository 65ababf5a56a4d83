// `gantry completion SHELL`: print the completion script of a shell. It calls the hidden command __complete (cli/completion),
// which sends no request to a server.

import { Argument, type Command } from "commander";
import { shellNames, shellScript } from "../completion/scripts.ts";
import { newCommand } from "../command.ts";
import type { Terminal } from "../terminal.ts";

export const completionCommand = ({ out }: Terminal): Command =>
  newCommand({
    name: "completion",
    usage: "SHELL",
    description: `Print a script that completes commands, options and values of gantry in bash, zsh or fish. Completion never contacts a
server: context names come from your context file.`,
    notes: `Examples:  source <(gantry completion bash)                  in ~/.bashrc
           source <(gantry completion zsh)                   in ~/.zshrc, after compinit
           gantry completion fish > ~/.config/fish/completions/gantry.fish`,
    wrongArguments: "shell required: gantry completion bash, zsh or fish",
  })
    .addArgument(new Argument("<SHELL>").choices(shellNames))
    .action((shell: (typeof shellNames)[number]) => {
      out.write(shellScript(shell));
    });
