#!/usr/bin/perl
# docs.t -- generated pages: the committed ones are what `make docs` gives, and they are sound
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Cli;
use File::Temp;
use Test::More;

my $dir = File::Temp->newdir;
mkdir "$dir/$_" for qw(completion annotations);
my $r = run({}, $DLREPL, 'docs/make/all.lua', "$dir");
is($r->{status}, 0, 'make docs succeeds') or diag($r->{err});

for my $page (qw(ops.md dlrepl.1 completion/dlrepl.bash completion/_dlrepl
                 annotations/torch.lua annotations/nn.lua annotations/optim.lua
                 annotations/rest.lua)) {
    my $same = Cli::read_file("docs/$page") eq Cli::read_file("$dir/$page");
    ok($same, "docs/$page is what make docs gives")
        or diag('run make docs and commit what it changes');
}

# A notebook that was run and saved has outputs; its cells must still be those of the lessons.
mkdir "$dir/notebooks";
$ENV{DLREPL_LANG} = 'en';
$r = run({}, $DLREPL, 'docs/make/notebooks.lua', "$dir/notebooks");
is($r->{status}, 0, 'the notebooks are made') or diag($r->{err});
my $cells = write_file('cells.lua', <<'LUA');
local json = require "dlrepl.json"
for _, cell in ipairs(json.decode(io.open(arg[1]):read("a")).cells) do
  print(cell.cell_type, table.concat(cell.source))
end
LUA
for my $file (glob "$dir/notebooks/*.ipynb") {
    my ($name) = $file =~ m{([^/]+)$};
    my ($have, $want) = map { run({}, $DLREPL, $cells, $_)->{out} }
        "jupyter/notebooks/$name", $file;
    same_text($have, $want, "jupyter/notebooks/$name has the cells of the lessons")
        or diag('run make docs and commit what it changes');
}

{
    local $ENV{DLREPL_LESSONS} = 'tests/lessons/fixtures';
    mkdir "$dir/lessons";
    run({}, $DLREPL, 'docs/make/notebooks.lua', "$dir/lessons");
    has_text(Cli::read_file("$dir/lessons/a-foundations.ipynb"), ':check do',
        'the lessons of a group make a notebook');
}

for my $page (qw(torch nn optim rest)) {
    my $code = "assert(loadfile('docs/annotations/$page.lua'))";
    is(run({}, $DLREPL, '-e', $code)->{status}, 0, "annotations/$page.lua is Lua");
}

my $help = run({}, $DLREPL, '--help')->{out};
my $man = Cli::read_file('docs/dlrepl.1') =~ s/\\-/-/gr;
for my $flag ($help =~ /^  (--?\w+)/mg) {
    ok($man =~ /^\.BI? \Q$flag\E/m, "the man page has $flag");
}

SKIP: {
    skip 'no bash here', 1 if system('bash -c true') != 0;
    my $words = 'source docs/completion/dlrepl.bash; COMP_WORDS=(dlrepl --ver); COMP_CWORD=1; '
        . '_dlrepl; echo "${COMPREPLY[@]}"';
    is(run({}, 'bash', '-c', $words)->{out}, "--version\n", 'bash completes --ver');
}

done_testing();
