//! `plimsoll completions` and `plimsoll man`: for packagers, and hidden from the list of commands.
//!
//! Invariant: both are made from the same definition that reads the arguments.

use crate::args::Cli;
use crate::console::Console;
use crate::exit::Exit;
use anyhow::{Result, bail};
use clap::CommandFactory as _;
use clap_complete::Shell;
use std::io::Write as _;

/// Arguments of `plimsoll completions`.
#[derive(clap::Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell to write completions for.
    shell: Shell,
}

/// Arguments of `plimsoll man`.
#[derive(clap::Args, Debug)]
pub(crate) struct ManArgs {
    /// The command to write the page of; without it, the page of plimsoll itself.
    command: Option<String>,
}

/// Writes completions.
pub(crate) fn completions(args: &CompletionsArgs, console: &mut Console) -> Result<Exit> {
    // The generator panics where it cannot write, so it writes into memory.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "plimsoll", &mut script);
    console.out.write_all(&script)?;
    Ok(Exit::Held)
}

/// Writes a manual page.
pub(crate) fn man(args: &ManArgs, console: &mut Console) -> Result<Exit> {
    let mut page = Cli::command();
    page.build();
    if let Some(name) = &args.command {
        let Some(found) = page.find_subcommand(name) else {
            bail!("there is no command `{name}`; plimsoll --help lists them");
        };
        page = found.clone();
    }
    clap_mangen::Man::new(page).render(&mut console.out)?;
    Ok(Exit::Held)
}
