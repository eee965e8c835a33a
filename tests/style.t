#!/usr/bin/perl
# style.t -- the house stays as drawn: sizes, widths, heads, layers, words
#
# For everyone who adds a file. Run from the top of the tree by `make test-style`. One TAP line a
# rule; a failing rule lists every place that breaks it.
use strict;
use warnings;
use utf8;
use open qw(:std :encoding(UTF-8));
use File::Find;
use Test::More;

my $FILE_MAX = 700;        # lines
my $FUNCTION_MAX = 70;     # lines
my $WIDTH_MAX = 100;       # columns
my $ROW_MAX = 140;         # columns of a table row

# ---- the files ------------------------------------------------------------

my (@files, %text);
find({no_chdir => 1, wanted => sub {
    return unless -f && /\.(c|h|cc|cu|cuh|lua|t|pl|pm|py|sh|mk|def)$/;
    push @files, $_;
}}, grep { -d } qw(src kernels tests lua lessons jupyter));
@files = sort @files;
for my $f (@files, grep { -f } qw(Makefile README.md)) {
    open my $in, '<', $f or die "$f: $!";
    $text{$f} = [map { chomp; $_ } <$in>];
}
my @code = grep { !/README/ } sort keys %text;
my @c = grep { /\.(c|h|cc|cu|cuh)$/ } @files;
my @lua = grep { /\.lua$/ } @files;

# One rule: the check gets a file and its lines and returns the places that break the rule.
sub rule {
    my ($name, $files, $check) = @_;
    my @bad = map { my $f = $_; map { "$f$_" } $check->($f, $text{$f}) } @$files;
    ok(!@bad, $name) or diag(join "\n", @bad);
}

sub lines_like {
    my ($lines, $pattern) = @_;
    my @hits = grep { $lines->[$_] =~ $pattern } 0 .. $#$lines;
    return map { ":" . ($_ + 1) . ": $lines->[$_]" } @hits;
}

# ---- sizes ------------------------------------------------------------

rule("files have at most $FILE_MAX lines", \@code, sub {
    my ($f, $lines) = @_;
    return @$lines > $FILE_MAX ? ": " . @$lines . " lines" : ();
});

rule("lines have at most $WIDTH_MAX columns (table rows $ROW_MAX)", \@code, sub {
    my ($f, $lines) = @_;
    return if $f =~ /ops\.def$/;
    return map {
        my $line = $lines->[$_];
        my $max = $line =~ /^\s*(?:X\w*\(|DL_\w+\(|\[\w+\]|\{)/ ? $ROW_MAX : $WIDTH_MAX;
        $max = 1000 if $f =~ /(?:Makefile|\.mk)$/ && $line =~ /^\t/;
        length($line) > $max ? ":" . ($_ + 1) . ": " . length($line) . " columns" : ();
    } 0 .. $#$lines;
});

rule("C functions have at most $FUNCTION_MAX lines", \@c, sub {
    my ($f, $lines) = @_;
    my ($start, @bad);
    for my $i (0 .. $#$lines) {
        my $line = $lines->[$i];
        if (defined $start) {
            next unless $line =~ /^\}/;
            my $n = $i - $start + 1;
            push @bad, ":" . ($start + 1) . ": $n lines" if $n > $FUNCTION_MAX;
            undef $start;
        } elsif ($line =~ /\)\s*\{$/ && $line !~ /^\s*(?:#|\/\*)/) {
            $start = $i;
            $start-- while $start > 0 && $lines->[$start] =~ /^\s/;
        }
    }
    return @bad;
});

rule("Lua functions have at most $FUNCTION_MAX lines", \@lua, sub {
    my ($f, $lines) = @_;
    my @bad;
    for my $i (0 .. $#$lines) {
        next unless $lines->[$i] =~ /^(\s*)(?:local\s+)?(?:function\b|[\w.]+\s*=\s*function\b)/;
        next if $lines->[$i] =~ /\bend\b/;
        my $indent = $1;
        my $j = $i + 1;
        $j++ while $j < @$lines && $lines->[$j] !~ /^${indent}end\b/;
        my $n = $j - $i + 1;
        push @bad, ":" . ($i + 1) . ": $n lines" if $n > $FUNCTION_MAX;
    }
    return @bad;
});

# ---- heads and words ------------------------------------------------------------

rule("C files begin with their name and what they are for", \@c, sub {
    my ($f, $lines) = @_;
    my ($name) = $f =~ m{([^/]+)$};
    return $lines->[0] =~ m{^/\* \Q$name\E -- \S} ? () : ": " . ($lines->[0] // "empty");
});

my @headed = grep { !m{^lessons/|/fixtures/} } @lua;   # a lesson begins with its own data
rule("Lua files begin with their name and what they are for", \@headed, sub {
    my ($f, $lines) = @_;
    my ($name) = $f =~ m{([^/]+)$};
    my $head = ($lines->[0] // '') =~ /^#!/ ? $lines->[1] : $lines->[0];
    return ($head // '') =~ m{^-- \S*\Q$name\E -- \S} ? () : ": " . ($head // "empty");
});

my @words = grep { $_ ne 'tests/style.t' } sort keys %text;
rule('nothing is left for later', \@words, sub {
    return lines_like($_[1], qr/\b(?:TODO|FIXME|XXX|HACK)\b/);
});
rule('the project speaks of itself alone', \@words, sub {
    return lines_like($_[1], qr{\bPyPI\b|\bissue #?\d|\b(?:git )?worktrees?\b}i);
});
rule('no code is commented out', \@c, sub {
    return lines_like($_[1], qr{^\s*//.*;\s*$|^\s*/\*[^*]*;\s*\*/\s*$});
});
rule('lines end without blanks, and there are no tabs', [@c, @lua], sub {
    return map { s/: .*//r } lines_like($_[1], qr/\s$|\t/);
});

# ---- layers ------------------------------------------------------------

# What each room may include of the others, as the picture in README and docs has it.
my %may = (
    'src/base'   => qr{^base/},
    'src/mem'    => qr{^(?:base|mem)/},
    'src/io'     => qr{^(?:base|mem|io)/},
    'src/tensor' => qr{^(?:base|mem|tensor)/},
    'src/graph'  => qr{^(?:base|mem|tensor|graph|op)/|^kernel\.h$},
    'src/op'     => qr{^(?:base|mem|tensor|graph|op)/|^(?:kernel|rng|walk|pick|cuda/record)\.h$},
    'src/grad'   => qr{^(?:base|mem|tensor|graph|op|grad)/|^(?:kernel|rng)\.h$},
    'src/bind'   => qr{^(?:base|mem|io|tensor|graph|op|grad|bind)/|^(?:kernel|rng|sim/sim)\.h$},
    'src/repl'   => qr{^(?:base|mem|tensor|graph|op|grad|bind|repl)/|^(?:kernel|rng|jupyter)\.h$},
    'jupyter'    => qr{^(?:base|bind|repl)/},
    'kernels'    => qr{^base/|^mem/(?:driver|mem)\.h$|^op/(?:arg\.h|op_id\.h|ops\.def)$|
                      ^(?:kernel|rng|formulas)\.h$}x,
);

rule('each room includes only the rooms below it', \@c, sub {
    my ($f, $lines) = @_;
    my ($room) = grep { index($f, "$_/") == 0 } keys %may or return;
    my ($dir) = $f =~ m{^(.*)/};
    my @bad;
    for my $i (0 .. $#$lines) {
        my ($inc) = $lines->[$i] =~ /^\s*#\s*include\s+"([^"]+)"/ or next;
        next if $inc =~ $may{$room} || (-f "$dir/$inc" && $inc !~ m{^\.\./});
        next if $room eq 'kernels' && (-f "kernels/$inc" || -f "$dir/../$inc");
        push @bad, ":" . ($i + 1) . ": $inc";
    }
    return @bad;
});

rule('only bind, repl and jupyter see Lua', [grep { !m{^(?:src/(?:bind|repl)|jupyter)/} } @c], sub {
    return lines_like($_[1], qr/^\s*#\s*include\s+[<"](?:lua|lauxlib|lualib)\.h/);
});

rule('-ffast-math is nowhere', ['Makefile'], sub {
    return lines_like([map { /^#/ ? '' : $_ } @{$_[1]}], qr/-ffast-math|-Ofast/);
});

done_testing();
